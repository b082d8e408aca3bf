"""NVIDIA GPUs, through the driver's library and NVRTC, which compiles at run time; NVIDIA's package
cuda-core contains that, and passes arrays on by DLPack.

All of it is imported on first use (PEP 562): calls on a CPU need `CudaArray` alone, and the thread
that wakes a GPU not even NumPy.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
