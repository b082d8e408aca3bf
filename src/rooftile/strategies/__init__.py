"""How an operation is computed: one folder an operation, one file a rung."""

from rooftile.strategies.base import Strategy, Tunable, ladder, preference, strategy
from rooftile.strategies.bound import Bound, Config
from rooftile.strategies.cpu import ArrayKernel, ArrayStrategy, CpuKernel, CpuStrategy, HostStrategy

__all__ = [
    "ArrayKernel",
    "ArrayStrategy",
    "Bound",
    "Config",
    "CpuKernel",
    "CpuStrategy",
    "HostStrategy",
    "Strategy",
    "Tunable",
    "ladder",
    "preference",
    "strategy",
]
