"""Any processor with an OpenCL driver, through PyOpenCL; Intel's runtime from PyPI drives x86-64.

It is imported on first use (PEP 562), as `rooftile.devices.cuda` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rooftile._lazy import attribute, names

if TYPE_CHECKING:
    from rooftile.devices.opencl.device import OpenclDevice, find, open_device, passed_over

__all__ = ["OpenclDevice", "find", "open_device", "passed_over"]


def __getattr__(name: str) -> Any:
    return attribute(__name__, dict.fromkeys(__all__, f"{__name__}.device"), name)


def __dir__() -> list[str]:
    return names(__name__, __all__)
