"""Any processor with an OpenCL driver, through PyOpenCL; Intel's runtime from PyPI drives x86-64.

It is imported on first use (PEP 562), as `rooftile.devices.cuda` is.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
