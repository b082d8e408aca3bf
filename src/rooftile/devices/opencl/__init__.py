"""Any processor with an OpenCL driver, through PyOpenCL; PoCL from PyPI drives the CPU.

It is imported on first use (PEP 562), as `rooftile.devices.cuda` is.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rooftile.devices.opencl.device import OpenclDevice, find, open_device, passed_over

__all__ = ["OpenclDevice", "find", "open_device", "passed_over"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.device")
    found = globals()[name] = getattr(module, name)
    return found
