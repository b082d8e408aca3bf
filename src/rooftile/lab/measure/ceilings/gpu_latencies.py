"""Latencies and strided reads of a GPU: ``latency.cu``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.ceilings import gpu_file
from rooftile.devices.gpu import Description, GpuDevice, Launch
from rooftile.lab.measure.ceilings.gpu_kernels import Bench, buffer_bytes, text
from rooftile.lab.measure.ceilings.microbenchmarks import (
    STRIDES,
    Latency,
    Level,
    Microbenchmarks,
    StridedRead,
    keep_microbenchmarks,
    one_cycle,
    path_beside,
    read_microbenchmarks,
)

LINE = 128
"""Bytes from an element of a chain in global memory to its neighbour: no cache has longer lines."""
_L1_BYTES, _L2_BYTES = 8 * 2**10, 4 * 2**20
"""Footprints.  The first cache of every GPU holds some 16 KiB or more, and none 1 MiB; the second
holds 4 MiB or, where it is told and less, a quarter of it."""
_SHARED_BYTES, CONSTANT_BYTES = 8 * 2**10, 2**10
"""Shared memory is as fast wherever it is read; constants have a first cache of 2 KiB."""
_BEYOND = 16
"""The footprint of global memory, in second caches: little of it is left there by the upload."""
_UNKNOWN_CACHE = 64 * 2**20
"""The second cache whose size is not known."""
_STEPS = {
    "registers": 2**18,
    "constant": 2**14,
    "shared": 2**15,
    "L1": 2**15,
    "L2": 2**15,
    "memory": 2**13,
}
"""Steps of a walk that are counted: about a millisecond of them."""
THREADS, LOADS = 256, 8
"""Threads of a block of strided reads, and how many each has in flight."""


def gpu_microbenchmarks(
    device: GpuDevice, *, refresh: bool = False, progress: Callable[[str], None] | None = None
) -> Microbenchmarks | None:
    """A GPU's measurements, from the cache or measured now, in some seconds.

    None for a device that is no GPU: its memories are the CPU's.
    """
    if not device.description.gpu:
        return None
    kept = None if refresh else known_gpu_microbenchmarks(device.description)
    if kept is not None:
        return kept
    if progress is not None:
        progress(f"measuring the latencies of {device.description.name}")
    measured = measure(device)
    keep_microbenchmarks(_path(device.description), measured)
    return measured


def known_gpu_microbenchmarks(device: Description) -> Microbenchmarks | None:
    """Kept measurements; None where nothing was measured."""
    return read_microbenchmarks(_path(device))


def measure(device: GpuDevice) -> Microbenchmarks:
    """Measure them now, on any device."""
    walker = Walker(device)
    found = (walker.registers(), walker.constant(), walker.shared(), *walker.caches_and_memory())
    size, reads = walker.strided()
    return Microbenchmarks(found, reads, size)


def _path(device: Description) -> Path:
    return path_beside(gpu_file(device))


@dataclass
class Walker:
    """Walks chains on one device."""

    device: GpuDevice

    def __post_init__(self) -> None:
        macros = {"THREADS": THREADS, "LOADS": LOADS, "CONSTANTS": CONSTANT_BYTES // 4}
        self.program = self.device.compile(text("latency"), macros)
        self._bench = Bench(self.device)
        self._ticks = self.device.upload(np.zeros(1, np.int64))

    def registers(self) -> Latency:
        """A multiply-add that takes the former one's result."""
        x = self.device.upload(np.array([0.5, 0.75, 0.25], np.float32))
        out, launch = self.device.allocate(4), _alone("walk_registers")

        def walk(steps: int) -> None:
            self.program.launch(launch, x, out, self._ticks, np.int32(steps))

        return self._latency("registers", 0, walk)

    def constant(self) -> Latency:
        """Elements of 4 bytes in constant memory."""
        chain = 4 * one_cycle(CONSTANT_BYTES // 4).astype(np.uint32)
        self.program.set_constant("held", chain.view(np.float32))
        place, launch = self._place(), _alone("walk_constant", constants=("held",))

        def walk(steps: int) -> None:
            counts = np.int32(len(chain)), np.int32(steps)
            self.program.launch(launch, place, self._ticks, *counts)

        return self._latency("constant", chain.nbytes, walk)

    def shared(self) -> Latency:
        """Elements of 4 bytes in shared memory."""
        chain = 4 * one_cycle(_SHARED_BYTES // 4).astype(np.uint32)
        given, place = self.device.upload(chain), self._place()
        launch = _alone("walk_shared", shared_bytes=chain.nbytes)

        def walk(steps: int) -> None:
            counts = (np.int32(number) for number in (0, steps, len(chain)))
            self.program.launch(launch, given, place, self._ticks, *counts)

        return self._latency("shared", chain.nbytes, walk)

    def caches_and_memory(self) -> tuple[Latency, ...]:
        """Elements of global memory, a line apart, by footprint.

        A launch finds the first cache empty, so that one round goes before what is counted; the
        second cache holds what the launch before has read.  In memory each walk goes on where the
        former one ended, and none comes where it has been.
        """
        cache = self.device.description.cache_bytes or _UNKNOWN_CACHE
        memory = min(_BEYOND * cache, buffer_bytes(self.device.description))
        second = min(_L2_BYTES, cache // 4, memory)
        return (
            self._global("L1", _L1_BYTES, warm=_L1_BYTES // LINE),
            self._global("L2", second, warm=0),
            self._global("memory", memory, warm=0),
        )

    def _global(self, level: Level, footprint: int, warm: int) -> Latency:
        chain, base = self.chain(footprint // LINE)
        place, launch = self._place(base), _alone("walk_global")

        def walk(steps: int) -> None:
            counts = np.int32(warm), np.int32(steps)
            self.program.launch(launch, chain, place, self._ticks, *counts)

        return self._latency(level, footprint, walk)

    def chain(self, count: int) -> tuple[Any, int]:
        """A chain of ``count`` lines in global memory, and its first element."""
        buffer = self.device.allocate(LINE * count)
        # CUDA's elements are addresses, OpenCL's count bytes from the beginning.
        base = int(self.device.address(buffer)) if self.device.kind == "cuda" else 0
        lines = np.zeros((count, LINE // 8), np.int64)
        lines[:, 0] = base + LINE * one_cycle(count)
        self.device.copy_in(lines, buffer)
        return buffer, base

    def strided(self) -> tuple[int, tuple[StridedRead, ...]]:
        """The size of the array, and the rate by stride at which all threads read it."""
        size = buffer_bytes(self.device.description)
        x = self.device.upload(np.ones(size // 4, np.float32))
        out = self.device.allocate(4)
        return size, tuple(self._read(x, out, size // 4, stride) for stride in STRIDES)

    def _read(self, x: Any, out: Any, elements: int, stride: int) -> StridedRead:
        blocks = max(1, elements // (stride * THREADS * LOADS))
        launch = Launch("read_strided", (blocks, 1, 1), (THREADS, 1, 1))
        seconds = self._bench.best(lambda: self.program.launch(launch, x, out, np.int32(stride)))
        return StridedRead(stride, 1e-9 * 4 * blocks * THREADS * LOADS / seconds)

    def _place(self, start: int = 0) -> Any:
        return self.device.upload(np.array([start], np.int64))

    def _latency(self, level: Level, footprint: int, walk: Callable[[int], None]) -> Latency:
        """The time of a step beyond a walk of no steps."""
        steps = _STEPS[level]
        none = self._bench.best(lambda: walk(0))
        ns = 1e9 * (self._bench.best(lambda: walk(steps)) - none) / steps
        ticks: NDArray[np.int64] = np.zeros(1, np.int64)
        self.device.copy_out(self._ticks, ticks)
        counted = self.device.kind == "cuda"
        return Latency(level, footprint, ns, float(ticks[0] / steps) if counted else None)


def _alone(kernel: str, shared_bytes: int = 0, constants: tuple[str, ...] = ()) -> Launch:
    return Launch(kernel, (1, 1, 1), (1, 1, 1), shared_bytes, constants)
