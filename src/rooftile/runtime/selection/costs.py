"""The speeds of the machine that times are estimated for: as measured, or nominal."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from rooftile.devices import ceilings, cpu
from rooftile.devices.select import describe_gpu, parse_device
from rooftile.errors import DeviceMissing
from rooftile.strategies.contract.costs import NOMINAL_CPU, NOMINAL_GPU, Speeds


@cache
def speeds_of(device: str) -> Speeds:
    """The speeds of a device: those that ``rooftile devices --measure`` or a climb has kept, else
    nominal ones for as many cores.

    They are read once a process.  Raises `InputError` for an unknown device.
    """
    kind, index = parse_device(device)
    if kind == "cpu":
        return _processor()
    try:
        gpu = describe_gpu(kind, index)
    except DeviceMissing:
        return NOMINAL_GPU
    if not gpu.gpu:
        return _processor()
    cache = gpu.cache_bytes or NOMINAL_GPU.cache_bytes
    nominal = dataclasses.replace(NOMINAL_GPU, cores=gpu.units, cache_bytes=cache)
    found = ceilings.read(ceilings.gpu_file(gpu))
    return nominal if found is None else _measured(found, nominal)


def speeds_from(device: str, found: Mapping[str, Any]) -> Speeds:
    """The speeds of a device like this one with the ceilings of a record."""
    return _measured(found, NOMINAL_CPU if device == "cpu" else NOMINAL_GPU)


def _measured(found: Mapping[str, Any], nominal: Speeds) -> Speeds:
    """Nominal speeds with what the ceilings say instead."""
    if "all_cores" in found:
        rates = found["all_cores"]
        share = rates["threads"] / NOMINAL_CPU.cores
        moved = max(rates["read_gbps"], rates["copy_gbps"], rates["stream_copy_gbps"])
        return dataclasses.replace(
            nominal,
            cores=rates["threads"],
            flops=1e9 * rates["fma_gflops"],
            bandwidth=1e9 * moved,
            cached=share * NOMINAL_CPU.cached,
        )
    mma, wgmma = found.get("mma_gflops", {}), found.get("wgmma_gflops", {})
    return dataclasses.replace(
        nominal,
        flops=1e9 * found["fma_gflops"],
        bandwidth=1e9 * max(found["read_gbps"], found["copy_gbps"]),
        start_s=1e-6 * found["replay_us"],
        matrix={name: 1e9 * max(rate, wgmma.get(name, 0.0)) for name, rate in mma.items()},
    )


def _processor() -> Speeds:
    """The speeds of the processor: nominal ones grow with the cores, memory's up to four."""
    share = cpu.cores() / NOMINAL_CPU.cores
    nominal = dataclasses.replace(
        NOMINAL_CPU,
        cores=cpu.cores(),
        flops=share * NOMINAL_CPU.flops,
        cached=share * NOMINAL_CPU.cached,
        bandwidth=min(share, 2.0) * NOMINAL_CPU.bandwidth,
        cache_bytes=cpu.cache_bytes() or NOMINAL_CPU.cache_bytes,
    )
    found = ceilings.read(ceilings.cpu_file())
    return nominal if found is None else _measured(found, nominal)


__all__ = ["speeds_from", "speeds_of"]
