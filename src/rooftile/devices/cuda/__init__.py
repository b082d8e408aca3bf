"""NVIDIA GPUs, through NVIDIA's own cuda-core: NVRTC compiles at run time."""

from rooftile.devices.cuda.arrays import CudaArray
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
