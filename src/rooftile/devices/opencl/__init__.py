"""Any processor with an OpenCL driver, through PyOpenCL; PoCL from PyPI drives the CPU."""

from rooftile.devices.opencl.device import OpenclDevice, find, open_device

__all__ = ["OpenclDevice", "find", "open_device"]
