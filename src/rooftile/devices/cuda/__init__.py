"""NVIDIA GPUs, through NVIDIA's own cuda-core: NVRTC compiles at run time.

What opens a GPU is imported on first use (PEP 562): calls on a CPU need `CudaArray` alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rooftile.devices.cuda.array import CudaArray

if TYPE_CHECKING:
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
    "CudaDevice": "device",
    "compile_cubin": "compile",
    "find": "opening",
    "kept_context": "driver",
    "lent_device": "opening",
    "open_device": "opening",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_PLACES[name]}")
    found = globals()[name] = getattr(module, name)
    return found
