"""Layers, networks, plans, training, data sets, built-in models.

They are imported on first use (PEP 562): data are read while networks are still imported.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
