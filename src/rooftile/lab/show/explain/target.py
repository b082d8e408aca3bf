"""The target of an explanation: a GPU that is here, or an architecture's data sheet."""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.analysis.architectures import ARCHITECTURES, GPUS, Multiprocessor, capability
from rooftile.analysis.bounds import STEP_CYCLES, bytes_under_way
from rooftile.devices.ceilings import gpu_file
from rooftile.devices.gpu import Description
from rooftile.devices.select import open_gpu, parse_device
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.measure.ceilings.gpu import GpuCeilings, read_ceilings
from rooftile.lab.measure.ceilings.gpu_latencies import known_gpu_microbenchmarks
from rooftile.strategies.contract.machine import Multiprocessors, preset

DEFAULT = "sm_90"
"""The architecture of an explanation where no GPU is at hand and none is named."""


@dataclass(frozen=True)
class Target:
    """Limits and rates of a GPU; None where it is not known."""

    name: str
    source: str
    """Source of the rates."""
    architecture: str | None
    """The architecture that NVRTC compiles for."""
    sm: Multiprocessor | None
    multiprocessors: int | None
    clock_mhz: int | None
    fma_gflops: float | None
    bandwidth_gb_s: float | None
    machine: Multiprocessors
    """The multiprocessors for which strategies calculate their grids and tiles."""
    cache_bytes: int | None = None
    """The last-level cache."""
    ceilings: GpuCeilings | None = None
    lanes: int | None = None
    """float32 multiply-adds of a multiprocessor a cycle."""
    latency_ns: float | None = None
    """Latency of device memory, where it was measured."""

    def gflops(self, precision: str) -> float | None:
        """The rate of a precision's roof; None where it is not known."""
        floats = precision in ("ieee", "fast")
        if self.ceilings and (floats or precision in self.ceilings.mma_gflops):
            return self.ceilings.rate_gflops(precision)
        return self.fma_gflops if floats else None

    def bytes_under_way(self) -> float | None:
        """Bytes that must be asked for at a time to keep device memory busy; None where it was not
        measured how long it takes to answer."""
        if self.latency_ns is None or self.bandwidth_gb_s is None:
            return None
        return bytes_under_way(self.bandwidth_gb_s, self.latency_ns)

    def passes_per_ms(self) -> float | None:
        """Passes of 128 bytes that L1 and shared memory make in a millisecond. Each multiprocessor
        makes one in a cycle."""
        if self.multiprocessors is None or self.clock_mhz is None:
            return None
        return 1e3 * self.multiprocessors * self.clock_mhz

    def steps_per_ms(self) -> float | None:
        """Steps that a thread makes in a millisecond if each waits for the one before."""
        return None if self.clock_mhz is None else 1e3 * self.clock_mhz / STEP_CYCLES


def find_target(device: str, architecture: str | None = None) -> Target:
    """A named architecture's product, else the device, else, for CUDA, the product of `DEFAULT`.

    Raises `InputError`, and `DeviceMissing` for an OpenCL device that is not there.
    """
    kind, _ = parse_device(device)
    if kind == "cpu":
        raise InputError("device", repr(device), "cuda or opencl: a CPU has no such launch")
    if architecture is not None:
        return _product(architecture, "data sheet")
    try:
        return _of_device(open_gpu(device).description)
    except DeviceMissing:
        if kind != "cuda":
            raise
        return _product(DEFAULT, "no GPU here; data sheet")


def _product(architecture: str, source: str) -> Target:
    key = capability(architecture)
    gpu = GPUS[key]
    return Target(
        name=gpu.name,
        source=source,
        architecture=f"sm_{key.replace('.', '')}",
        sm=ARCHITECTURES[key],
        multiprocessors=gpu.multiprocessors,
        clock_mhz=gpu.clock_mhz,
        fma_gflops=gpu.peak_gflops,
        bandwidth_gb_s=gpu.bandwidth_gb_s,
        machine=preset(key),
        lanes=gpu.lanes,
    )


def _of_device(found: Description) -> Target:
    ceilings = read_ceilings(gpu_file(found))
    memories = known_gpu_microbenchmarks(found)
    latency = memories.latency("memory") if memories else None
    cuda = found.kind == "cuda"
    name = found.name if found.gpu else f"{found.name} (not a GPU)"
    source = "measured ceilings" if ceilings else "no ceilings measured: rooftile devices --measure"
    return Target(
        name=name,
        source=source,
        architecture=found.architecture if cuda else None,
        sm=_multiprocessor(found) if cuda else None,
        multiprocessors=found.units if found.gpu else None,
        clock_mhz=found.clock_mhz if found.gpu else None,
        fma_gflops=ceilings.fma_gflops if ceilings else None,
        bandwidth_gb_s=ceilings.bandwidth_gbps if ceilings else None,
        machine=Multiprocessors.of(found),
        cache_bytes=found.cache_bytes,
        ceilings=ceilings,
        lanes=_lanes(found.architecture) if cuda else None,
        latency_ns=latency.ns if latency else None,
    )


def _lanes(architecture: str) -> int | None:
    """Lanes of a product of an architecture; None for an unknown one."""
    try:
        return GPUS[capability(architecture)].lanes
    except InputError:
        return None


def _multiprocessor(found: Description) -> Multiprocessor | None:
    """The limits that we know of an architecture; for one that we do not know, the driver's."""
    try:
        return ARCHITECTURES[capability(found.architecture)]
    except InputError:
        if found.threads_per_unit is None:
            return None
    return Multiprocessor(
        threads=found.threads_per_unit,
        blocks=32,
        registers=found.registers_per_unit,
        shared_bytes=found.shared_bytes_per_unit,
        threads_per_block=found.threads_per_block,
        shared_bytes_per_block=found.shared_bytes_per_block,
    )
