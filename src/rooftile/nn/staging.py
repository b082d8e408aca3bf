"""Images and scores between host memory and a GPU: through page-locked memory, from which copies
run at full speed and the host need not wait for them."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.streams import own_stream, pinned
from rooftile.devices.gpu import GpuDevice
from rooftile.ops import AnyArray

_MOST_THREADS = 8
"""So many threads copy as fast as a GPU's link takes it."""
_MANY = 16
"""Of so many segments threads copy whole ones, which takes their time from Python's lock least."""
_FEW_THREADS = 4
"""Of fewer segments so many threads copy pieces: more would wait for that lock and each other."""
_PIECE_BYTES = 2**20
"""A piece's length: long beside what Python does for it, and soon done."""
_BUFFERS = 10
"""Segments that page-locked memory holds: two that are copied to the GPU, others being filled."""
_LEAVING = 2
"""Segments whose copies to the GPU are handed over before the host waits for the first."""


class DirectCopies:
    """A batch in, its layers, and its scores out, for a device whose copies the host waits for."""

    def __init__(self, gpu: GpuDevice) -> None:
        self._gpu = gpu

    def run(
        self, images: AnyArray, x: Any, launch: Callable[[], object], y: Any, scores: AnyArray
    ) -> None:
        """``x`` and ``y`` are device memory that ``launch`` reads and writes."""
        self._gpu.copy_in(images, x)
        launch()
        self._gpu.copy_out(y, scores)


class PinnedCopies:
    """The same through page-locked memory: the host waits once, at the end."""

    def __init__(self, gpu: CudaDevice) -> None:
        self._gpu, self._stream = gpu, own_stream(gpu)
        self._held = [np.empty(0, np.uint8)] * 2

    def run(
        self, images: AnyArray, x: Any, launch: Callable[[], object], y: Any, scores: AnyArray
    ) -> None:
        """See `DirectCopies.run`.  Raises `OutOfMemory`."""
        inward, outward = self._like(0, images), self._like(1, scores)
        np.copyto(inward, images)
        try:
            self._stream.copy_in(inward, x)
            launch()
            self._stream.copy_out(y, outward)
        finally:
            self._stream.synchronise()
        np.copyto(scores, outward)

    def _like(self, number: int, array: AnyArray) -> AnyArray:
        if self._held[number].nbytes < array.nbytes:
            self._held[number] = pinned(self._gpu, (array.nbytes,), np.uint8)
        return self._held[number][: array.nbytes].view(array.dtype).reshape(array.shape)


class Source(Protocol):
    """Segments of images, one after the other, for whoever copies them to a GPU."""

    def next(self) -> Iterable[AnyArray]:
        """The next segment's pieces in order, each when it is there; they stay as they are until
        `sent` says otherwise."""

    def sent(self, mark: Any) -> None:
        """A mark behind the copies of the segment that `next` gave last."""


class AsTheyLie:
    """Segments where they are."""

    def __init__(self, parts: Sequence[AnyArray]) -> None:
        self._parts = iter(parts)

    def next(self) -> Iterable[AnyArray]:
        """See `Source.next`."""
        return [next(self._parts)]

    def sent(self, mark: Any) -> None:
        """See `Source.sent`."""


class Stager:
    """Threads that copy segments into page-locked buffers, ahead of the copies to the GPU.

    A processor's core copies a fifth of what the link takes, so several do: each its pieces of a
    few segments, so that the first is soon there, or whole ones of many.  The threads hold Python's
    lock only between pieces.
    """

    def __init__(self, gpu: CudaDevice, threads: int | None = None) -> None:
        self._gpu = gpu
        self._threads = threads or min(cpu.cores(), _MOST_THREADS)
        self._buffers: list[NDArray[np.uint8]] = []

    @contextmanager
    def filled(self, parts: Sequence[AnyArray]) -> Iterator[Source]:
        """The parts by way of the buffers, in order; the first is the largest.

        The device is current.  After the block no thread reads the parts any more.  Raises
        `OutOfMemory`.
        """
        nbytes, many = parts[0].nbytes, len(parts) >= _MANY
        buffers = self._of(nbytes, min(len(parts), _BUFFERS))
        filling = _Filling(buffers, parts, nbytes if many else _PIECE_BYTES)
        self._crew.begin(filling.work, self._threads if many else _FEW_THREADS)
        try:
            filling.begin()
            yield filling
        finally:
            filling.stop()
            self._crew.wait()

    @cached_property
    def _crew(self) -> _Crew:
        return _Crew(self._threads)

    def _of(self, nbytes: int, count: int) -> list[NDArray[np.uint8]]:
        held = self._buffers
        if len(held) < count or held[0].nbytes < nbytes:
            self._buffers = held = []
            held += [pinned(self._gpu, (nbytes,), np.uint8) for _ in range(count)]
        return held


class _Crew:
    """Threads that wait for work: to wake one takes a few microseconds, a pool's some twenty."""

    def __init__(self, count: int) -> None:
        self._begun = 0
        self._go = [_locked() for _ in range(count)]
        self._over = [_locked() for _ in range(count)]
        self._work: list[Callable[[int], object] | None] = [None]
        for number in range(count):
            # The threads do not hold the crew, so that they end when nobody else does.
            run = partial(_follow, number, self._go[number], self._over[number], self._work)
            threading.Thread(target=run, name=f"rooftile-staging-{number}", daemon=True).start()
        weakref.finalize(self, _release, self._go, self._work).atexit = False

    def begin(self, work: Callable[..., object], most: int) -> None:
        """Call ``work`` in at most so many threads, with their number and how many they are."""
        self._begun = min(most, len(self._go))
        self._work[0] = partial(work, count=self._begun)
        for go in self._go[: self._begun]:
            go.release()

    def wait(self) -> None:
        """Until all have done what was begun."""
        for over in self._over[: self._begun]:
            over.acquire()
        self._work[0] = None


def _follow(
    number: int,
    go: threading.Lock,
    over: threading.Lock,
    work: list[Callable[[int], object] | None],
) -> None:
    """What a thread of a crew does."""
    while True:
        go.acquire()
        called = work[0]
        if called is None:
            return
        called(number)
        del called
        over.release()


def _release(go: Sequence[threading.Lock], work: list[Any]) -> None:
    """End the threads of a crew that nobody holds any more."""
    work[0] = None
    for one in go:
        one.release()


def _locked() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class _Filling:
    """One run of a stager: pieces in order, which the caller and the threads take in turns."""

    def __init__(
        self, buffers: Sequence[NDArray[np.uint8]], parts: Sequence[AnyArray], piece: int
    ) -> None:
        """``piece`` is a piece's length in bytes."""
        self._parts, first = parts, parts[0]
        self._filled = [
            buffer[: first.nbytes].view(first.dtype).reshape(first.shape) for buffer in buffers
        ]
        self._step = max(1, piece // first[:1].nbytes)
        """Images of a piece."""
        self._pieces = -(-len(first) // self._step)
        """Of each segment but the last."""
        total = (len(parts) - 1) * self._pieces - (-len(parts[-1]) // self._step)
        self._done = [_locked() for _ in range(total)]
        """A piece's is locked until it is there."""
        self._gates = [_locked() for _ in parts]
        """A segment's is locked until its buffer is free."""
        self._open, self._given, self._stopped = 0, 0, False
        self._marks: deque[Any] = deque()
        for _ in self._filled[: len(parts)]:
            self._open_gate()

    def begin(self) -> None:
        """Copy the first piece, while the threads wake."""
        self._copy(0)

    def work(self, number: int, count: int) -> None:
        """What a thread of so many copies."""
        for piece in range(1 + number, len(self._done), count):
            with self._gates[piece // self._pieces]:
                pass
            if self._stopped:
                return
            self._copy(piece)

    def next(self) -> Iterator[AnyArray]:
        """See `Source.next`: waits for a piece, and gives those behind it that are there too."""
        number = self._given
        self._given += 1
        filled = self._filled[number % len(self._filled)][: len(self._parts[number])]
        pieces = self._done[number * self._pieces : (number + 1) * self._pieces]
        first = 0
        while first < len(pieces):
            pieces[first].acquire()
            end = first + 1
            while end < len(pieces) and pieces[end].acquire(blocking=False):
                end += 1
            yield filled[first * self._step : end * self._step]
            first = end

    def sent(self, mark: Any) -> None:
        """See `Source.sent`: waits for the copy before the last, whose buffer is free then."""
        self._marks.append(mark)
        if self._open < len(self._gates) and len(self._marks) >= _LEAVING:
            self._marks.popleft().sync()
            self._open_gate()

    def stop(self) -> None:
        """What the threads have not begun they leave."""
        self._stopped = True
        while self._open < len(self._gates):
            self._open_gate()

    def _open_gate(self) -> None:
        self._gates[self._open].release()
        self._open += 1

    def _copy(self, piece: int) -> None:
        source, to = self._ends(piece)
        np.copyto(to, source)
        self._done[piece].release()

    def _ends(self, piece: int) -> tuple[AnyArray, AnyArray]:
        """Where a piece lies, and where it is copied to."""
        segment, place = divmod(piece, self._pieces)
        part, filled = self._parts[segment], self._filled[segment % len(self._filled)]
        at = slice(place * self._step, min((place + 1) * self._step, len(part)))
        return part[at], filled[at]
