"""Images and scores between host memory and a GPU: through page-locked memory, from which copies
run at full speed and the host need not wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source as source_of
from rooftile.devices.cpu.native.vector import lanes
from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.streams import own_stream, pinned
from rooftile.devices.gpu import GpuDevice
from rooftile.ops import AnyArray

_MOST_THREADS = 15
"""Number of threads that copy twice as fast as a GPU's link, also data that no cache holds."""
_FEW_THREADS, _BYTES_OF_MORE = 8, 2**23
"""A smaller number that is hardly slower, and the bytes from which waking one more thread pays."""
_SPARED = 8
"""Number of cores of which one is left free, for instance for CUDA's driver."""
_BUFFERS = 3
"""Segments that page-locked memory holds: one is being filled, the others leave."""
FIRST_PIECE_BYTES, PIECE_BYTES = 2**21, 2**23
"""Bytes of the first piece and the largest: the first is short, so that the link begins early, and
the others are long compared with the synchronisation of cores and link."""
_GROWS = 8
"""A piece grows by one part in this number: cores copy a piece while the link takes the one
before."""
_UNIT = 2**13
"""Words of a unit of work."""
_LINE = 64
"""Bytes of a cache's line."""


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
    """Segments of images, one after the other, to be copied to a GPU."""

    def next(self) -> Iterable[AnyArray]:
        """The next segment's pieces in order, each when it is there; they stay as they are until
        `sent` says otherwise."""

    def sent(self, mark: Any) -> None:
        """A mark after the copies of the segment that `next` gave last; it moves when as many
        segments more as there are buffers have been sent."""


class AsTheyLie:
    """Segments where they are."""

    def __init__(self, parts: Sequence[AnyArray]) -> None:
        self._parts = iter(parts)

    def next(self) -> Iterable[AnyArray]:
        return [next(self._parts)]

    def sent(self, mark: Any) -> None: ...


class Stager:
    """Cores that copy segments into page-locked buffers, ahead of the copies to the GPU.

    A processor's core copies a fifth of what the link takes, and several together more than that:
    all of them copy a piece, past their caches, and the next one while the link takes it.
    """

    def __init__(self, gpu: CudaDevice, threads: int | None = None) -> None:
        self._gpu = gpu
        self._threads = threads or copying(cpu.cores())
        self._buffers: list[NDArray[np.uint8]] = []

    def filled(self, parts: Sequence[AnyArray]) -> Source:
        """The contiguous parts by way of the buffers, in order; the first is the largest. The
        device is current. Raises `OutOfMemory`."""
        nbytes = parts[0].nbytes
        if not self._buffers or self._buffers[0].nbytes < nbytes:
            self._buffers = []
            self._buffers += [pinned(self._gpu, (nbytes,), np.uint8) for _ in range(_BUFFERS)]
        most = max(_FEW_THREADS, sum(part.nbytes for part in parts) // _BYTES_OF_MORE)
        return Filling(self._buffers, parts, min(self._threads, most))


def copying(cores: int) -> int:
    """Number of cores, of ``cores``, that copy."""
    return min(cores - cores // _SPARED, _MOST_THREADS)


class Filling:
    """One run of a stager."""

    def __init__(
        self, buffers: Sequence[NDArray[np.uint8]], parts: Sequence[AnyArray], threads: int
    ) -> None:
        self._buffers, self._parts, self._threads = buffers, parts, threads
        self._given, self._length = 0, min(FIRST_PIECE_BYTES, PIECE_BYTES)
        self._marks: deque[Any] = deque()

    def next(self) -> Iterator[AnyArray]:
        """See `Source.next`: waits until the copy that used the buffer is over."""
        number = self._given
        self._given += 1
        if number >= len(self._buffers):
            self._marks.popleft().sync()
        source = self._parts[number].reshape(-1).view(np.uint8)
        to = self._buffers[number % len(self._buffers)]
        first = 0
        while first < len(source):
            piece = source[first : first + self._length]
            there = to[first : first + len(piece)]
            copy_bytes(piece, there, self._threads)
            yield there
            first += len(piece)
            longer = self._length + self._length // _GROWS // _LINE * _LINE
            self._length = min(longer, PIECE_BYTES)

    def sent(self, mark: Any) -> None:
        self._marks.append(mark)


_TEXT = """
def kernel(x, out, sizes, begin, end):
    for unit in range(begin, end):
        first = unit * {unit}
        last = min(first + {unit}, sizes[0])
        whole = first + (last - first) // {lanes} * {lanes}
        for i in range(first, whole, {lanes}):
            stream(out, i, load(x, i))
        if whole < last:
            store_part(out, whole, load_part(x, whole, last - whole), last - whole)
"""


def copy_bytes(source: NDArray[np.uint8], to: NDArray[np.uint8], threads: int) -> None:
    """Copy one row of bytes to another with ``threads`` threads."""
    lead = min(-cpu.address(to) % _LINE, len(source))
    end = lead + (len(source) - lead) // 4 * 4
    # Streaming stores are of whole lines, and vectors of words on their own boundaries.
    if end > lead and (cpu.address(source) + lead) % 4 == 0:
        to[:lead], to[end:] = source[:lead], source[end:]
        words, there = source[lead:end].view(np.float32), to[lead:end].view(np.float32)
        _copy()((words, there), cpu.sizes_of(len(words)), -(-len(words) // _UNIT), threads)
    else:
        to[...] = source


@cache
def _copy() -> cpu.Spread:
    text = _TEXT.format(unit=_UNIT, lanes=lanes())
    return cpu.Spread(source_of("copy_past_the_cache", text), ("float32", "float32"))
