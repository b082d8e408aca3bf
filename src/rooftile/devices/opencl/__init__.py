"""Any processor with an OpenCL driver, through PyOpenCL; PoCL from PyPI drives the CPU."""

from rooftile.devices.opencl.device import OpenclDevice, find, open_device, passed_over

__all__ = ["OpenclDevice", "find", "open_device", "passed_over"]
