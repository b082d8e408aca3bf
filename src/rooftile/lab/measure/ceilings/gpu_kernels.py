"""Microbenchmarks of a GPU: each finds a rate that `rooftile.lab.measure.ceilings.gpu` keeps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import Description, GpuDevice, Launch
from rooftile.lab.measure.ceilings import wgmma as _wgmma
from rooftile.ops import Float32, narrowed
from rooftile.runtime.timing.telemetry import Reading, sensors
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.contract.gpu import HEADERS

_THREADS, _CHAINS, _TILES = 256, 8, 8
"""Threads of a block; independent sums of a thread, and of a warp, which hide the latency."""
_LOADS = (1, 2, 4, 8)
"""Vectors that a thread has in flight: each is tried, and the fastest counts."""
_FMA_STEPS, _MMA_STEPS = 4096, 2048
"""Instructions of each of these sums in one launch."""
BUFFER_BYTES = 2**30
"""Memory is measured over buffers of this size or, if that is less, of an eighth of the device's
memory.  For a device that is no GPU, which is slow, a sixteenth of this size is the limit."""
SECONDS = 0.3
"""Seconds spent on each rate."""
_MMA_FLOPS = {name: 2 * 16 * 8 * cores.depth for name, cores in CORES.items()}


class Bench:
    """Runs the microbenchmarks of one device."""

    def __init__(self, device: GpuDevice) -> None:
        self.device = device
        self.readings: list[Reading] = []
        self._read = sensors(device)

    def memory(self) -> tuple[float, float]:
        """Bytes read, and bytes read and written by a copy: 1e9 a second."""
        size = buffer_bytes(self.device.description)
        blocks = size // (16 * _THREADS * max(_LOADS)) * max(_LOADS)
        count = 16 * _THREADS * blocks
        source = self.device.upload(np.ones(count // 4, np.float32))
        target = self.device.allocate(count)

        def seconds(kernel: str, loads: int) -> float:
            program = self.device.compile(text("memory"), {"THREADS": _THREADS, "LOADS": loads})
            launch = Launch(kernel, (blocks // loads, 1, 1), (_THREADS, 1, 1))
            return self.best(lambda: program.launch(launch, source, target))

        read = min(seconds("read_all", loads) for loads in _LOADS)
        copy = min(seconds("copy_all", loads) for loads in _LOADS)
        return 1e-9 * count / read, 2e-9 * count / copy

    def arithmetic(self) -> tuple[dict[str, float], ...]:
        """1e9 FLOP a second: of `fma`, and by precision of `mma` and `wgmma`."""
        return {"": self.fma()}, self.mma(), *self.wgmma()

    def fma(self) -> float:
        """float32 FLOP, 1e9 a second."""
        program = self.device.compile(text("fma"), {"CHAINS": _CHAINS, "STEPS": _FMA_STEPS})
        x = np.random.default_rng(0).uniform(0.5, 0.99, _CHAINS + 2).astype(np.float32)
        blocks = 32 * self.device.description.units
        out, given = self.device.allocate(4 * blocks * _THREADS), self.device.upload(x)
        launch = Launch("fma_chains", (blocks, 1, 1), (_THREADS, 1, 1))
        seconds = self.best(lambda: program.launch(launch, given, out))
        return 1e-9 * 2 * blocks * _THREADS * _CHAINS * _FMA_STEPS / seconds

    def mma(self) -> dict[str, float]:
        """FLOP of matrix instructions by precision, 1e9 a second."""
        device = self.device.description
        # mma.sync for these precisions came with compute capability 8.0.
        if device.kind != "cuda" or int(device.architecture.removeprefix("sm_")) < 80:
            return {}
        blocks = 16 * device.units
        out = self.device.allocate(4 * blocks * _THREADS)
        launch = Launch("mma_tiles", (blocks, 1, 1), (_THREADS, 1, 1))
        found = {}
        for name, flops in _MMA_FLOPS.items():
            cores = CORES[name].word
            macros: dict[str, int | str] = {"TILES": _TILES, "STEPS": _MMA_STEPS, "CORES": cores}
            program = self.device.compile(text("tensor"), macros, (HEADERS,))
            x = self.device.upload(operands(name))
            seconds = self.best(lambda p=program, x=x: p.launch(launch, x, out))  # type: ignore[misc]
            found[name] = 1e-9 * flops * blocks * (_THREADS // 32) * _TILES * _MMA_STEPS / seconds
        return found

    def wgmma(self) -> tuple[dict[str, float], dict[str, float]]:
        """FLOP of warpgroup products by precision, 1e9 a second: of normal numbers, of zeros."""
        device = self.device.description
        if (device.kind, device.architecture) != ("cuda", _wgmma.ARCHITECTURE):
            return {}, {}
        normal, zeros = {}, {}
        for name in _MMA_FLOPS:
            tried = [_wgmma.Chains(name, groups) for groups in _wgmma.GROUPS]
            normal[name] = max(self._chains(one, one.values()) for one in tried)
            zeros[name] = max(self._chains(one, np.zeros_like(one.values())) for one in tried)
        return normal, zeros

    def _chains(self, chains: _wgmma.Chains, values: Float32) -> float:
        """1e9 FLOP a second of one kernel, with one block on each multiprocessor."""
        blocks = self.device.description.units
        program = self.device.compile(text("wgmma"), chains.macros(), (HEADERS,))
        x = self.device.upload(chains.stored(values))
        out = self.device.allocate(4 * math.prod(chains.out(blocks)))
        launch = chains.launch(blocks)
        return 1e-9 * chains.flops(blocks) / self.best(lambda: program.launch(launch, x, out))

    def launches(self) -> tuple[float, float]:
        """Microseconds of an empty kernel: by the host with the wait for it, and in a graph."""
        program = self.device.compile(text("fma"), {"CHAINS": _CHAINS, "STEPS": _FMA_STEPS})
        out, launch = self.device.allocate(4), Launch("nothing", (1, 1, 1), (32, 1, 1))

        def start() -> None:
            program.launch(launch, out)

        def alone() -> None:
            start()
            self.device.synchronise()

        host = _least(alone)

        def hundred() -> None:
            for _ in range(100):
                start()

        return 1e6 * host, 1e6 * self.best(self.device.captured(hundred)) / 100

    def transfers(self, array: NDArray[np.float32]) -> tuple[float, float]:
        """Bytes from the host array to the device and back, 1e9 a second."""
        buffer = self.device.upload(array)
        size = 1e-9 * array.nbytes
        to = _least(lambda: self.device.copy_in(array, buffer))
        return size / to, size / _least(lambda: self.device.copy_out(buffer, array))

    def best(self, work: Callable[[], object]) -> float:
        """Seconds, by the device's clock, that one launch in twenty beats."""
        for _ in range(2):
            work()
        times: list[float] = []
        end = time.perf_counter() + SECONDS
        while len(times) < 5 or time.perf_counter() < end:
            self.device.synchronise()
            # The first launch keeps the device busy until the host has handed over the second.
            work()
            before = self.device.mark()
            work()
            after = self.device.mark()
            self.device.synchronise()
            times.append(1e-3 * self.device.between(before, after))
        reading = self._read()
        if reading is not None:
            self.readings.append(reading)
        return float(np.percentile(times, 5))


def buffer_bytes(device: Description) -> int:
    """Bytes of the buffers that memory is measured over."""
    size = BUFFER_BYTES if device.gpu else BUFFER_BYTES // 16
    return min(size, device.memory_bytes // 8)


def _least(work: Callable[[], object]) -> float:
    """Seconds, by the host's clock, that one call in twenty beats."""
    work()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.percentile(times, 5))


def operands(precision: str) -> NDArray[np.float32]:
    """1024 registers of normal values, two in each for the 16-bit precisions."""
    values = np.random.default_rng(0).standard_normal(2048).astype(np.float32)
    if CORES[precision].bytes == 4:
        return values[:1024]
    return narrowed(values, precision).view(np.float32)


def text(name: str) -> str:
    """The kernels of ``<name>.cu``."""
    return (Path(__file__).parent / f"{name}.cu").read_text(encoding="utf-8")
