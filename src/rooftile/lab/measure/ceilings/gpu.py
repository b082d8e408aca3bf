"""The roof of a GPU: its largest rates, measured by our own kernels.

They measure read and copy bandwidth of its memory, float32 FMA rate, matrix rate by precision, the
cost of a launch, and the bandwidth between host and device, once per device. The results are kept
as JSON in the user's cache, as the CPU's are (`rooftile.lab.measure.ceilings.cpu`).

The matrix rates are of ``mma.sync``, one warp's instruction, and on Hopper of ``wgmma``, four
warps', which alone reaches the full rate; the faster one is a precision's ceiling. Blackwell's
``tcgen05`` is not measured: there vendor libraries may pass these ceilings.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile._files import keep
from rooftile.devices.ceilings import gpu_file, read, sealed
from rooftile.devices.gpu import GpuDevice
from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.ceilings.gpu_kernels import Bench
from rooftile.lab.measure.formed import formed
from rooftile.runtime.timing.telemetry import Clocks

HOST_BYTES = 256 * 2**20
"""Bytes of the array whose transfers are timed."""


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
    """Host's time from handing over an empty kernel until the device is known to be idle."""
    replay_us: float
    """Device's time of one of many empty kernels in a graph: the least that a kernel can take."""
    to_device_gbps: float
    """From ordinary, pageable host memory."""
    from_device_gbps: float
    to_device_pinned_gbps: float | None
    """From page-locked host memory; None where the device offers none."""
    from_device_pinned_gbps: float | None
    clocks: Clocks | None
    """The clocks during the measurement; None where sensors cannot be read."""
    wgmma_gflops: Mapping[str, float] = field(default_factory=dict)
    """``wgmma`` of standard normal numbers in shared memory, float32 sums, by precision; empty
    where there is none, and in records from before it was measured."""
    wgmma_zeros_gflops: Mapping[str, float] = field(default_factory=dict)
    """The rates of ``wgmma`` on zeros, which draw the least power, so that the clock is highest: no
    data are multiplied faster."""

    @property
    def bandwidth_gbps(self) -> float:
        """The better of reading and copying."""
        return max(self.read_gbps, self.copy_gbps)

    @property
    def matrix_gflops(self) -> dict[str, float]:
        """The rate of the faster of ``mma.sync`` and ``wgmma``, by precision."""
        return {
            name: max(rate, self.wgmma_gflops.get(name, 0.0))
            for name, rate in self.mma_gflops.items()
        }

    def rate_gflops(self, precision: str = "ieee") -> float:
        """The rate of a precision's roof: that of its matrix instructions, where it has some."""
        rates = self.matrix_gflops
        return rates.get(precision) or self._float32_gflops(rates)

    def _float32_gflops(self, rates: Mapping[str, float]) -> float:
        """The fastest way to float32's accuracy: FMAs, or three products of TF32 or scaled float16
        for each one."""
        return max(self.fma_gflops, *(rates.get(name, 0.0) / 3 for name in ("tf32", "fp16")))

    def most_gflops(self, precision: str) -> float:
        """The rate that a direct method can reach at a precision; infinite where transforms save
        FLOPs. It is ``wgmma``'s rate on zeros where that was measured, else twice the rate of
        ``mma.sync``, which instructions of four warps reach on no device."""
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
    path = gpu_file(device.description)
    kept = None if refresh else read_ceilings(path)
    if kept is not None:
        return kept
    measured = measure_gpu_ceilings(device, progress)
    _keep(path, measured)
    return measured


def read_ceilings(path: Path) -> GpuCeilings | None:
    """The ceilings in a file; None where there are none that this version can read."""
    kept = read(path)
    if kept is None:
        return None
    try:
        kept["wgmma_gflops"]  # A file without it was written before it was measured.
        return ceilings_from(kept)
    except (ValueError, TypeError, KeyError):
        return None


def ceilings_from(record: Mapping[str, Any]) -> GpuCeilings:
    """Ceilings from their JSON object.  Raises `ValueError` for another format."""
    return formed(GpuCeilings, record, "ceilings")


def measure_gpu_ceilings(
    device: GpuDevice, progress: Callable[[str], None] | None = None
) -> GpuCeilings:
    """Measure them now.  Raises `OutOfMemory`, `CompileFailure`."""
    report = progress or (lambda line: None)
    bench = Bench(device)
    report(f"measuring the ceilings of {device.description.name}: memory")
    read, copy = bench.memory()
    report(f"measuring the ceilings of {device.description.name}: arithmetic")
    once = bench.arithmetic()
    launch, replay = bench.launches()
    report(f"measuring the ceilings of {device.description.name}: transfers")
    pageable = bench.transfers(np.ones(HOST_BYTES // 4, np.float32))
    pinned = _pinned(device)
    locked = bench.transfers(pinned) if pinned is not None else (None, None)
    report(f"measuring the ceilings of {device.description.name}: arithmetic again")
    # They are measured twice, so that a disturbance of one of them does not become the roof.
    fma, mma, wgmma, zeros = map(_faster, once, bench.arithmetic())
    return GpuCeilings(
        fma_gflops=fma[""],
        read_gbps=read,
        copy_gbps=copy,
        mma_gflops=mma,
        launch_us=launch,
        replay_us=replay,
        to_device_gbps=pageable[0],
        from_device_gbps=pageable[1],
        to_device_pinned_gbps=locked[0],
        from_device_pinned_gbps=locked[1],
        clocks=Clocks.of(bench.readings),
        wgmma_gflops=wgmma,
        wgmma_zeros_gflops=zeros,
    )


def _faster(once: dict[str, float], again: dict[str, float]) -> dict[str, float]:
    """The higher of each pair of rates."""
    return {name: max(rate, again[name]) for name, rate in once.items()}


def _pinned(device: GpuDevice) -> NDArray[np.float32] | None:
    pinned = getattr(device, "pinned", None)
    if pinned is None:
        return None
    array: NDArray[np.float32] = pinned(HOST_BYTES // 4)
    return array


def _keep(path: Path, measured: GpuCeilings) -> None:
    # With a read-only home, each process measures anew.
    keep(path, sealed(dataclasses.asdict(measured)))
