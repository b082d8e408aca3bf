"""NVIDIA GPUs, through NVIDIA's own cuda-core: NVRTC compiles at run time."""

from rooftile.devices.cuda.compile import compile_cubin
from rooftile.devices.cuda.device import CudaDevice, find, kept_context, open_device

__all__ = ["CudaDevice", "compile_cubin", "find", "kept_context", "open_device"]
