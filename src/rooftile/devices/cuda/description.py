"""An NVIDIA GPU's properties, by its driver."""

from __future__ import annotations

import ctypes
from typing import Any

from rooftile.devices.cuda.driver import answer, call
from rooftile.devices.gpu import Description

_ATTRIBUTES = {
    "threads_per_block": 1,
    "constant_bytes": 9,
    "warp": 10,
    "units": 16,
    "cache_bytes": 38,
    "threads_per_unit": 39,
    "shared_bytes_per_unit": 81,
    "registers_per_unit": 82,
    "shared_bytes_per_block": 97,
}
"""CUdevice_attribute of what a description says in one number."""
_CLOCK_KHZ, _MAJOR, _MINOR = 13, 75, 76
_NAME_BYTES, _BUS_BYTES = 256, 32


def attribute(index: int, number: int) -> int:
    """The driver's value of a CUdevice_attribute of a GPU."""
    found: int = answer("cuDeviceGetAttribute", ctypes.c_int, number, ctypes.c_int(index))
    return found


def describe(index: int) -> Description:
    """The name and limits of the GPU of this number, which is current."""
    version = answer("cuDriverGetVersion", ctypes.c_int)
    free, memory = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(memory))
    told: dict[str, Any] = {name: attribute(index, n) for name, n in _ATTRIBUTES.items()}
    return Description(
        kind="cuda",
        index=index,
        name=_words("cuDeviceGetName", _NAME_BYTES, index),
        driver=f"CUDA {version // 1000}.{version % 1000 // 10}",
        architecture=f"sm_{attribute(index, _MAJOR)}{attribute(index, _MINOR)}",
        memory_bytes=memory.value,
        clock_mhz=attribute(index, _CLOCK_KHZ) // 1000,
        **told,
    )


def bus_of(index: int) -> str:
    """The PCI address of the GPU of this number."""
    return _words("cuDeviceGetPCIBusId", _BUS_BYTES, index)


def _words(function: str, most: int, index: int) -> str:
    found = ctypes.create_string_buffer(most)
    call(function, found, most, ctypes.c_int(index))
    return found.value.decode()
