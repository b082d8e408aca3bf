"""A plan's calls with arrays that lie in its GPU's memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.array import ALIGNMENT
from rooftile.errors import UnsupportedProblem
from rooftile.nn.gpu_path import GpuPath, aligned_step
from rooftile.nn.numbers import Numbers
from rooftile.runtime.arrays.libraries import Library
from rooftile.runtime.calls.gpu_repeat import GpuRepeat, Signature
from rooftile.runtime.calls.workspace import memory_for


class CallsInPlace:
    """Starts the layers on the caller's stream, which read images and write scores without a copy.

    Results between the layers are in memory of the caller's library, which knows the stream that
    still uses it: calls of any thread on any stream, and concurrent replays of graphs, do not share
    memory, and none waits for another.
    """

    def __init__(self, gpu: CudaDevice, batch: int, path: Callable[[str], GpuPath]) -> None:
        """``path`` gives the layers for images of a dtype."""
        self._gpu, self._batch, self._path = gpu, batch, path
        self._called: set[tuple[str, int]] = set()
        self._kept: list[CudaArray] = []

    def __call__(
        self, library: Library, x: CudaArray, out: CudaArray | None, shape: tuple[int, ...]
    ) -> Any:
        """The scores of this shape as the library's array; ``out`` takes them where it is given.
        Raises `UnsupportedProblem` for a call that a graph cannot capture, `InputError` where the
        library makes no arrays, `OutOfMemory`."""
        gpu, call = self._gpu, (x.dtype, shape[0])
        with gpu.on(library.stream(x)):
            capturing = gpu.capturing()
            if capturing:
                self._check_captured(library, call)
            path = self._path(x.dtype)
            if out is not None and out.stream not in (None, x.stream):
                gpu.after_stream(out.stream)
            to = library.result(shape, gpu, path.scores) if out is None else out
            self._start(library, path, x.address, to.address, shape[0])
            self._called.add(call)
            return library.finish(to, gpu) if out is None else None

    def repeat(
        self, library: Library, dtype: str, count: int, shape: tuple[int, ...]
    ) -> GpuRepeat | None:
        """The launches of the next call with ``count`` images; None for more than a batch."""
        if not library.quick or count > self._batch:
            return None
        path = self._path(dtype)
        given, made = library.own_dtype(dtype), library.own_dtype(path.scores)
        call = Signature(1, (given,), shape, made)
        return GpuRepeat(library, self._gpu, path.execution(count), call)

    def _check_captured(self, library: Library, call: tuple[str, int]) -> None:
        reason, instead = "", ""
        if not library.capturable:
            reason, instead = f"{library.title} brings no memory for it", "PyTorch or CuPy"
        elif call not in self._called:
            reason = "the plan has not computed this number of images of this dtype in place yet"
            instead = "the same call once before the capture"
        if reason:
            raise UnsupportedProblem("plan", f"a graph is being captured, and {reason}", instead)

    def _start(self, library: Library, path: GpuPath, images: int, scores: int, count: int) -> None:
        """Start a batch after the other."""
        if count <= self._batch:
            self._part(library, path, images, scores, count)
            return
        step = aligned_step(path, self._batch, ALIGNMENT)
        for first in range(0, count, step):
            x, y = images + first * path.image_bytes, scores + first * path.score_bytes
            some = min(step, count - first)
            if x % ALIGNMENT or y % ALIGNMENT:
                self._moved(library, path, x, y, some)
            else:
                self._part(library, path, x, y, some)

    def _part(self, library: Library, path: GpuPath, images: int, scores: int, count: int) -> None:
        execution = path.execution(count)
        held = memory_for(library, self._gpu, execution.workspace.nbytes, self._kept)
        execution.start((images, scores), execution.workspace.at(held.address if held else 0))

    def _moved(self, library: Library, path: GpuPath, images: int, scores: int, count: int) -> None:
        """Images or scores of a batch that begin where kernels cannot read or write them."""
        sizes = path.image_bytes * count, path.score_bytes * count
        held = [memory_for(library, self._gpu, nbytes, self._kept) for nbytes in sizes]
        x, y = (memory.address for memory in held if memory)
        self._move(images, x, sizes[0])
        self._part(library, path, x, y, count)
        self._move(y, scores, sizes[1])

    def _move(self, given: int, to: int, nbytes: int) -> None:
        self._gpu.launches([self._mover.move(given, to, nbytes)], ()).start(())

    @cached_property
    def _mover(self) -> Numbers:
        with self._gpu.on():
            return Numbers(self._gpu, "uint8", 1, None)
