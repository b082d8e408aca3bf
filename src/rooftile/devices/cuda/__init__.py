"""NVIDIA GPUs, through the driver's library and NVRTC, which compiles at run time; NVIDIA's package
cuda-core brings that, and passes arrays on by DLPack.

All of it is imported on first use (PEP 562): calls on a CPU need `CudaArray` alone, and the thread
that wakes a GPU not even NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rooftile._lazy import attribute, names

if TYPE_CHECKING:
    from rooftile.devices.cuda.array import CudaArray
    from rooftile.devices.cuda.compile import compile_cubin
    from rooftile.devices.cuda.device import CudaDevice
    from rooftile.devices.cuda.driver import kept_context
    from rooftile.devices.cuda.opening import find, lent_device, open_device

__all__ = [
    "CudaArray",
    "CudaDevice",
    "compile_cubin",
    "find",
    "kept_context",
    "lent_device",
    "open_device",
]
_PLACES = {
    "CudaArray": f"{__name__}.array",
    "CudaDevice": f"{__name__}.device",
    "compile_cubin": f"{__name__}.compile",
    "find": f"{__name__}.opening",
    "kept_context": f"{__name__}.driver",
    "lent_device": f"{__name__}.opening",
    "open_device": f"{__name__}.opening",
}


def __getattr__(name: str) -> Any:
    return attribute(__name__, _PLACES, name)


def __dir__() -> list[str]:
    return names(__name__, _PLACES)
