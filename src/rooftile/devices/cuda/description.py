"""What an NVIDIA GPU is, by its driver."""

from __future__ import annotations

from typing import Any

from rooftile.devices.cuda.driver import checked, driver
from rooftile.devices.gpu import Description


def describe(device: Any, index: int) -> Description:
    """The name and limits of a GPU that is current; ``index`` is its number."""
    p = device.properties
    cu = driver()
    version = checked(cu.cuDriverGetVersion())
    _, memory = checked(cu.cuMemGetInfo())
    return Description(
        kind="cuda",
        index=index,
        name=device.name,
        driver=f"CUDA {version // 1000}.{version % 1000 // 10}",
        architecture=f"sm_{device.arch}",
        units=p.multiprocessor_count,
        memory_bytes=int(memory),
        cache_bytes=p.l2_cache_size,
        warp=p.warp_size,
        threads_per_block=p.max_threads_per_block,
        threads_per_unit=p.max_threads_per_multiprocessor,
        shared_bytes_per_block=p.max_shared_memory_per_block_optin,
        shared_bytes_per_unit=p.max_shared_memory_per_multiprocessor,
        registers_per_unit=p.max_registers_per_multiprocessor,
        constant_bytes=p.total_constant_memory,
        clock_mhz=p.clock_rate // 1000,
    )
