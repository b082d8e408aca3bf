"""Data sets: Fashion-MNIST and what has its format, and tables, made a network's input.

They are imported on first use (PEP 562).
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
