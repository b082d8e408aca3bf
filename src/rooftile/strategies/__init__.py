"""How an operation is computed: one folder an operation, one file a rung."""

from rooftile.strategies.base import Bound, Strategy, ladder, strategy
from rooftile.strategies.cpu import CpuKernel, CpuStrategy

__all__ = ["Bound", "CpuKernel", "CpuStrategy", "Strategy", "ladder", "strategy"]
