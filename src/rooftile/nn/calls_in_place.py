"""A plan's calls with arrays that lie in its GPU's memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.array import ALIGNMENT
from rooftile.errors import UnsupportedProblem
from rooftile.nn.gpu_way import Way, aligned_step
from rooftile.nn.numbers import Numbers
from rooftile.runtime.arrays import Library
from rooftile.runtime.repeats import Repeat


class _Memory:
    """Memory for a call; all of it is kept in a list, where one is given."""

    def __init__(self, library: Library, gpu: CudaDevice, keep: list[CudaArray] | None) -> None:
        self._library, self._gpu, self._keep = library, gpu, keep

    def take(self, nbytes: int) -> CudaArray:
        """It is freed, in the order of the stream, once nobody holds it.  Raises `OutOfMemory`."""
        memory = self._library.empty((-(-nbytes // 4),), self._gpu)
        if self._keep is not None:
            self._keep.append(memory)
        return memory


class CallsInPlace:
    """Starts the layers on the caller's stream, reading images and writing scores as they lie.

    What is between the layers lies in memory of the caller's library, which knows the stream that
    still uses it: so calls of any thread on any stream, and graphs that replay beside them, do not
    meet, and none waits for another.
    """

    def __init__(self, gpu: CudaDevice, batch: int, way: Callable[[str], Way]) -> None:
        """``way`` gives the layers for images of a dtype."""
        self._gpu, self._batch, self._way = gpu, batch, way
        self._called: set[tuple[str, int]] = set()
        self._kept: list[CudaArray] = []

    def __call__(
        self, library: Library, x: CudaArray, out: CudaArray | None, shape: tuple[int, ...]
    ) -> Any:
        """The scores of this shape as the library's array; ``out`` takes them where it is given.

        Raises `UnsupportedProblem` for a call that a graph cannot capture, `InputError` where the
        library makes no arrays, `OutOfMemory`.
        """
        gpu, call = self._gpu, (x.dtype, shape[0])
        with gpu.on(library.stream(x)):
            capturing = gpu.capturing()
            if capturing:
                self._check_captured(library, call)
            way = self._way(x.dtype)
            if out is not None and out.stream not in (None, x.stream):
                gpu.after_stream(out.stream)
            to = library.result(shape, gpu, way.scores) if out is None else out
            # Its pool would give the memory to others, into which a graph still writes.
            keep = self._kept if capturing and not library.graph_pool else None
            self._start(_Memory(library, gpu, keep), way, x.address, to.address, shape[0])
            self._called.add(call)
            return library.finish(to, gpu) if out is None else None

    def repeat(
        self, library: Library, dtype: str, count: int, shape: tuple[int, ...]
    ) -> Repeat | None:
        """What the next call with so many images launches; None for more than a batch."""
        if not library.quick or count > self._batch:
            return None
        gpu, way = self._gpu, self._way(dtype)
        route = way.route(count)
        stays = [gpu.address(memory) for memory in route.stays]
        return Repeat(
            library,
            gpu,
            gpu.description.index,
            inputs=1,
            shape=shape,
            dtypes=(library.own_dtype(dtype),),
            made=library.own_dtype(way.scores),
            launches=route.launches,
            zeros=(None,),
            stays=stays,
            offsets=route.offsets,
            floats=-(-route.nbytes // 4),
        )

    def _check_captured(self, library: Library, call: tuple[str, int]) -> None:
        reason, instead = "", ""
        if not library.capturable:
            reason, instead = f"{library.title} brings no memory for it", "PyTorch or CuPy"
        elif call not in self._called:
            reason = "the plan has not computed so many images of this dtype in place yet"
            instead = "the same call once before the capture"
        if reason:
            raise UnsupportedProblem("plan", f"a graph is being captured, and {reason}", instead)

    def _start(self, memory: _Memory, way: Way, images: int, scores: int, count: int) -> None:
        """Start a batch after the other."""
        if count <= self._batch:
            self._part(memory, way, images, scores, count)
            return
        step = aligned_step(way, self._batch, ALIGNMENT)
        for first in range(0, count, step):
            x, y = images + first * way.image_bytes, scores + first * way.score_bytes
            some = min(step, count - first)
            if x % ALIGNMENT or y % ALIGNMENT:
                self._moved(memory, way, x, y, some)
            else:
                self._part(memory, way, x, y, some)

    def _part(self, memory: _Memory, way: Way, images: int, scores: int, count: int) -> None:
        nbytes = way.route(count).nbytes
        held = memory.take(nbytes) if nbytes else None
        way.start_in(held.address if held else 0, images, scores, count)

    def _moved(self, memory: _Memory, way: Way, images: int, scores: int, count: int) -> None:
        """Images or scores of a batch that begin where kernels cannot read or write them."""
        sizes = way.image_bytes * count, way.score_bytes * count
        x, y = map(memory.take, sizes)
        self._move(images, x.address, sizes[0])
        self._part(memory, way, x.address, y.address, count)
        self._move(y.address, scores, sizes[1])

    def _move(self, given: int, to: int, nbytes: int) -> None:
        self._gpu.launches([self._mover.move(given, to, nbytes)], ()).start(())

    @cached_property
    def _mover(self) -> Numbers:
        with self._gpu.on():
            return Numbers(self._gpu, "uint8", 1, None)
