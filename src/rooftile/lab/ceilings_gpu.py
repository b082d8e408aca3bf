"""The roof of a GPU: what it does at most, measured by own kernels.

Read and copy bandwidth of its memory, float32 FMA rate, matrix rate by precision, what a
launch costs, and the bandwidth between host and device.  Measured once per device and kept
as JSON in the user's cache, as those of the CPU are (`rooftile.lab.ceilings`).

The matrix rates are those of ``mma.sync``, one warp's instruction, and on Hopper of ``wgmma``,
four warps', which alone reaches the full rate; the faster one is a precision's ceiling.
Blackwell's ``tcgen05`` is not measured: there vendor libraries may pass these ceilings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cache import cache_directory
from rooftile.devices.gpu import Description, GpuDevice, Launch
from rooftile.lab import _wgmma
from rooftile.lab.ceilings import Roof
from rooftile.lab.environment import package_version
from rooftile.lab.measure_gpu import text
from rooftile.lab.telemetry import Clocks, Reading, sensors
from rooftile.ops import Float32, narrowed

_THREADS, _CHAINS, _TILES = 256, 8, 8
_LOADS = (1, 2, 4, 8)
"""Vectors that a thread has in flight: each is tried, and the fastest counts."""
_FMA_STEPS, _MMA_STEPS = 4096, 2048
_BUFFER_BYTES = 2**30
"""Memory is measured over buffers of this size, or an eighth of the device's memory; of a
device that is no GPU, whose clock is slow, over a sixteenth of this."""
_HOST_BYTES = 256 * 2**20
_SECONDS = 0.3
"""Spent on each rate."""
_MMA_FLOPS = {"tf32": 2 * 16 * 8 * 8, "fp16": 2 * 16 * 8 * 16, "bf16": 2 * 16 * 8 * 16}


@dataclass(frozen=True)
class GpuCeilings(Roof):
    """Measured rates of one device: 1e9 FLOP (or bytes) a second."""

    fma_gflops: float
    """float32; a fused multiply-add is two FLOP."""
    read_gbps: float
    copy_gbps: float
    """Read and written bytes."""
    mma_gflops: Mapping[str, float]
    """``mma.sync`` with float32 sums, by precision; empty where there is none."""
    launch_us: float
    """Host: from handing over an empty kernel until the device is known to be idle."""
    replay_us: float
    """Device: one of many empty kernels of a graph; the least a kernel can take."""
    to_device_gbps: float
    """From ordinary, pageable host memory."""
    from_device_gbps: float
    to_device_pinned_gbps: float | None
    """From page-locked host memory; None where the device offers none."""
    from_device_pinned_gbps: float | None
    clocks: Clocks | None
    """While they were measured; None where sensors cannot be read."""
    wgmma_gflops: Mapping[str, float] = field(default_factory=dict)
    """``wgmma`` of standard normal numbers in shared memory, float32 sums, by precision; empty
    where there is none, and in records from before it was measured."""
    wgmma_zeros_gflops: Mapping[str, float] = field(default_factory=dict)
    """The same of zeros, which draw the least power, so that the clock is highest: no data are
    multiplied faster."""

    @property
    def bandwidth_gbps(self) -> float:
        """The better of the two."""
        return max(self.read_gbps, self.copy_gbps)

    @property
    def matrix_gflops(self) -> dict[str, float]:
        """By precision the faster of ``mma.sync`` and ``wgmma``."""
        return {
            name: max(rate, self.wgmma_gflops.get(name, 0.0))
            for name, rate in self.mma_gflops.items()
        }

    def rate_gflops(self, precision: str = "ieee") -> float:
        """The rate of a precision's roof: of matrix instructions, where it has some."""
        rates = self.matrix_gflops
        return rates.get(precision) or self._float32_gflops(rates)

    def _float32_gflops(self, rates: Mapping[str, float]) -> float:
        """By FMAs, or by three products of TF32 or of scaled float16 for each of float32 accuracy,
        whichever is fastest."""
        return max(self.fma_gflops, *(rates.get(name, 0.0) / 3 for name in ("tf32", "fp16")))

    def most_gflops(self, precision: str) -> float:
        """What a direct method can reach at a precision; infinite where transforms save FLOPs.

        That of zeros, where it was measured.  Elsewhere instructions of four warps are not, and
        nowhere do they reach twice the rate of ``mma.sync``.
        """
        most = {
            name: max(rate, self.wgmma_zeros_gflops.get(name, 2 * rate))
            for name, rate in self.matrix_gflops.items()
        }
        if precision == "ieee":
            return self._float32_gflops(most)
        return most.get(precision, math.inf)


def gpu_ceilings(
    device: GpuDevice, *, refresh: bool = False, progress: Callable[[str], None] | None = None
) -> GpuCeilings:
    """A device's ceilings, from the cache or measured now, in some seconds."""
    path = cache_file(device.description)
    kept = None if refresh else read_ceilings(path)
    if kept is not None:
        return kept
    measured = measure_gpu_ceilings(device, progress)
    _keep(path, measured)
    return measured


def cache_file(device: Description) -> Path:
    """Where a device's ceilings are kept."""
    parts = (device.kind, device.name, device.driver, str(device.units), package_version())
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return cache_directory() / "ceilings" / f"gpu-{name}.json"


def read_ceilings(path: Path) -> GpuCeilings | None:
    """What is kept; None where nothing is, or nothing that this version can read."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        kept["wgmma_gflops"]  # Without it is from before it was measured.
        return ceilings_from(kept)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def ceilings_from(record: Mapping[str, Any]) -> GpuCeilings:
    """Ceilings from their JSON object.  Raises `TypeError`, `KeyError` for another format."""
    clocks = record["clocks"]
    if clocks:
        clocks = Clocks(**{**clocks, "throttled_by": tuple(clocks["throttled_by"])})
    return GpuCeilings(**{**record, "clocks": clocks})


def measure_gpu_ceilings(
    device: GpuDevice, progress: Callable[[str], None] | None = None
) -> GpuCeilings:
    """Measure them now.  Raises `OutOfMemory`, `CompileFailure`."""
    report = progress or (lambda line: None)
    bench = _Bench(device)
    report(f"measuring the ceilings of {device.description.name}: memory")
    read, copy = bench.memory()
    report(f"measuring the ceilings of {device.description.name}: arithmetic")
    once = bench.arithmetic()
    launch, replay = bench.launches()
    report(f"measuring the ceilings of {device.description.name}: transfers")
    pageable = bench.transfers(np.ones(_HOST_BYTES // 4, np.float32))
    pinned = _pinned(device)
    locked = bench.transfers(pinned) if pinned is not None else (None, None)
    report(f"measuring the ceilings of {device.description.name}: arithmetic again")
    # What disturbs one of them for a while must not become the roof.
    fma, mma, wgmma, zeros = map(_faster, once, bench.arithmetic())
    return GpuCeilings(
        fma_gflops=fma[""], read_gbps=read, copy_gbps=copy, mma_gflops=mma,
        launch_us=launch, replay_us=replay,
        to_device_gbps=pageable[0], from_device_gbps=pageable[1],
        to_device_pinned_gbps=locked[0], from_device_pinned_gbps=locked[1],
        clocks=Clocks.of(bench.readings), wgmma_gflops=wgmma, wgmma_zeros_gflops=zeros,
    )  # fmt: skip


class _Bench:
    """Runs the microbenchmarks of one device."""

    def __init__(self, device: GpuDevice) -> None:
        self.device = device
        self.readings: list[Reading] = []
        self._read = sensors(device)

    def memory(self) -> tuple[float, float]:
        """Bytes read, and bytes read and written by a copy: 1e9 a second."""
        device = self.device.description
        size = min(_BUFFER_BYTES if device.gpu else _BUFFER_BYTES // 16, device.memory_bytes // 8)
        blocks = size // (16 * _THREADS * max(_LOADS)) * max(_LOADS)
        count = 16 * _THREADS * blocks
        source = self.device.upload(np.ones(count // 4, np.float32))
        target = self.device.allocate(count)

        def seconds(kernel: str, loads: int) -> float:
            program = self.device.compile(text("memory"), {"THREADS": _THREADS, "LOADS": loads})
            launch = Launch(kernel, (blocks // loads, 1, 1), (_THREADS, 1, 1))
            return self._best(lambda: program.launch(launch, source, target))

        read = min(seconds("read_all", loads) for loads in _LOADS)
        copy = min(seconds("copy_all", loads) for loads in _LOADS)
        return 1e-9 * count / read, 2e-9 * count / copy

    def arithmetic(self) -> tuple[dict[str, float], ...]:
        """FLOP, 1e9 a second: float32's, and by precision those of `mma` and `wgmma`."""
        return {"": self.fma()}, self.mma(), *self.wgmma()

    def fma(self) -> float:
        """float32 FLOP, 1e9 a second."""
        program = self.device.compile(text("fma"), {"CHAINS": _CHAINS, "STEPS": _FMA_STEPS})
        x = np.random.default_rng(0).uniform(0.5, 0.99, _CHAINS + 2).astype(np.float32)
        blocks = 32 * self.device.description.units
        out, given = self.device.allocate(4 * blocks * _THREADS), self.device.upload(x)
        launch = Launch("fma_chains", (blocks, 1, 1), (_THREADS, 1, 1))
        seconds = self._best(lambda: program.launch(launch, given, out))
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
            precisions = {f"PRECISION_{p.upper()}": int(p == name) for p in _MMA_FLOPS}
            macros = {"TILES": _TILES, "STEPS": _MMA_STEPS, **precisions}
            program, given = self.device.compile(text("tensor"), macros), _operands(name)
            x = self.device.upload(given)
            seconds = self._best(lambda p=program, x=x: p.launch(launch, x, out))  # type: ignore[misc]
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
        """FLOP of one kernel on one block a multiprocessor, 1e9 a second."""
        blocks = self.device.description.units
        program = self.device.compile(text("wgmma"), chains.macros())
        x = self.device.upload(chains.stored(values))
        out = self.device.allocate(4 * math.prod(chains.out(blocks)))
        launch = chains.launch(blocks)
        return 1e-9 * chains.flops(blocks) / self._best(lambda: program.launch(launch, x, out))

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

        return 1e6 * host, 1e6 * self._best(self.device.captured(hundred)) / 100

    def transfers(self, array: NDArray[np.float32]) -> tuple[float, float]:
        """Bytes from the host array to the device and back, 1e9 a second."""
        buffer = self.device.upload(array)
        size = 1e-9 * array.nbytes
        to = _least(lambda: self.device.copy_in(array, buffer))
        return size / to, size / _least(lambda: self.device.copy_out(buffer, array))

    def _best(self, work: Callable[[], object]) -> float:
        """Seconds, by the device's clock, that one launch in twenty beats."""
        for _ in range(2):
            work()
        times: list[float] = []
        end = time.perf_counter() + _SECONDS
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


def _faster(once: dict[str, float], again: dict[str, float]) -> dict[str, float]:
    """Of each rate the higher."""
    return {name: max(rate, again[name]) for name, rate in once.items()}


def _least(work: Callable[[], object]) -> float:
    """Seconds, by the host's clock, that one call in twenty beats."""
    work()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.percentile(times, 5))


def _operands(precision: str) -> NDArray[np.float32]:
    """1024 registers of normal values, two in each for the 16-bit precisions."""
    values = np.random.default_rng(0).standard_normal(2048).astype(np.float32)
    return values[:1024] if precision == "tf32" else narrowed(values, precision).view(np.float32)


def _pinned(device: GpuDevice) -> NDArray[np.float32] | None:
    pinned = getattr(device, "pinned", None)
    if pinned is None:
        return None
    array: NDArray[np.float32] = pinned(_HOST_BYTES // 4)
    return array


def _keep(path: Path, measured: GpuCeilings) -> None:
    # A read-only home still measures, each time.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(dataclasses.asdict(measured), file, indent=1)
        os.replace(file.name, path)
