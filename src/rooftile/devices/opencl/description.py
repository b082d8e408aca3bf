"""An OpenCL device's properties, by its driver."""

from __future__ import annotations

import contextlib
from typing import Any

from rooftile.devices.gpu import Description


def describe(cl: Any, device: Any, index: int) -> Description:
    """The name and limits of a device; ``cl`` is PyOpenCL, ``index`` the device's number."""
    warp = None
    with contextlib.suppress(AttributeError, cl.Error):
        warp = int(device.warp_size_nv)
    return Description(
        kind="opencl",
        index=index,
        name=device.name.strip(),
        driver=f"{device.platform.name} {device.driver_version}",
        architecture=device.version.strip(),
        units=device.max_compute_units,
        memory_bytes=device.global_mem_size,
        cache_bytes=device.global_mem_cache_size or None,
        warp=warp,
        threads_per_block=device.max_work_group_size,
        threads_per_unit=None,
        shared_bytes_per_block=device.local_mem_size,
        shared_bytes_per_unit=None,
        registers_per_unit=None,
        constant_bytes=device.max_constant_buffer_size,
        clock_mhz=device.max_clock_frequency or None,
        gpu=bool(device.type & cl.device_type.GPU),
    )
