"""NVIDIA GPUs, through NVIDIA's own cuda-core: NVRTC compiles at run time."""

from rooftile.devices.cuda.arrays import CudaArray
from rooftile.devices.cuda.compile import compile_cubin
from rooftile.devices.cuda.device import CudaDevice, find, lent_device, open_device
from rooftile.devices.cuda.driver import kept_context

__all__ = [
    "CudaArray",
    "CudaDevice",
    "compile_cubin",
    "find",
    "kept_context",
    "lent_device",
    "open_device",
]
