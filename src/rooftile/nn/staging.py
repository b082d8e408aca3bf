"""Images and scores between host memory and a GPU: through page-locked memory, from which copies
run at full speed and the host need not wait for them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
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
_LEAVING = 2
"""Page-locked buffers that copies to the GPU still read while the threads fill the others."""


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

    def next(self) -> AnyArray:
        """The next segment; it stays as it is until `sent` says otherwise."""

    def sent(self, mark: Any) -> None:
        """A mark behind the copy of the segment that `next` gave last."""


class AsTheyLie:
    """Segments where they are."""

    def __init__(self, parts: Sequence[AnyArray]) -> None:
        self._parts = iter(parts)

    def next(self) -> AnyArray:
        """See `Source.next`."""
        return next(self._parts)

    def sent(self, mark: Any) -> None:
        """See `Source.sent`."""


class Stager:
    """Threads that copy segments into page-locked buffers, ahead of the copies to the GPU.

    Each copies whole segments, since a processor's core copies a fifth of what the link takes.  The
    buffers, the threads and the GPU hand each other segments by the buffers that are free.
    """

    def __init__(self, gpu: CudaDevice, threads: int | None = None) -> None:
        self._gpu = gpu
        self._threads = threads or min(cpu.cores(), _MOST_THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self._buffers: list[NDArray[np.uint8]] = []

    @contextmanager
    def filled(self, parts: Sequence[AnyArray]) -> Iterator[Source]:
        """The parts by way of the buffers, in order; the first is the largest.

        The device is current.  After the block no thread reads the parts any more.  Raises
        `OutOfMemory`.
        """
        filling = _Filling(self._threads_pool(), self._of(parts[0].nbytes), parts)
        try:
            yield filling
        finally:
            filling.end()

    def _threads_pool(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, "rooftile-staging")
        return self._pool

    def _of(self, nbytes: int) -> list[NDArray[np.uint8]]:
        if not self._buffers or self._buffers[0].nbytes < nbytes:
            count, self._buffers = self._threads + _LEAVING, []
            self._buffers = [pinned(self._gpu, (nbytes,), np.uint8) for _ in range(count)]
        return self._buffers


class _Filling:
    """One run of a stager."""

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        buffers: Sequence[NDArray[np.uint8]],
        parts: Sequence[AnyArray],
    ) -> None:
        self._pool, self._free, self._parts = pool, deque(buffers), deque(parts)
        self._fills: deque[Future[AnyArray]] = deque()
        self._given: deque[NDArray[np.uint8]] = deque()
        self._marks: deque[Any] = deque()
        self._stopped = threading.Event()
        self._submit()

    def next(self) -> AnyArray:
        """See `Source.next`: waits for the thread that copies it."""
        return self._fills.popleft().result()

    def sent(self, mark: Any) -> None:
        """See `Source.sent`: waits for the copy before the last, whose buffer is free then."""
        self._marks.append(mark)
        if self._parts and len(self._marks) >= _LEAVING:
            self._marks.popleft().sync()
            self._free.append(self._given.popleft())
            self._submit()

    def end(self) -> None:
        """Wait for the threads; what they have not begun they leave."""
        self._stopped.set()
        wait(self._fills)

    def _submit(self) -> None:
        while self._parts and self._free:
            buffer, part = self._free.popleft(), self._parts.popleft()
            self._given.append(buffer)
            self._fills.append(self._pool.submit(self._fill, buffer, part))

    def _fill(self, buffer: NDArray[np.uint8], part: AnyArray) -> AnyArray:
        filled = buffer[: part.nbytes].view(part.dtype).reshape(part.shape)
        if not self._stopped.is_set():
            np.copyto(filled, part)
        return filled
