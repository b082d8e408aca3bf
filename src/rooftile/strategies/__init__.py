"""The strategies: one folder an operation, one module a rung or a family of rungs.

"PMPP" stands for Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.
"""

from rooftile._moved import moved
from rooftile.strategies.binding.bound import Bound, Config
from rooftile.strategies.contract.cpu import (
    ArrayKernel,
    ArrayStrategy,
    CpuKernel,
    CpuStrategy,
    HostStrategy,
)
from rooftile.strategies.contract.ladder import ladder, preference, strategy
from rooftile.strategies.contract.strategy import Strategy, Tunable

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

moved(__name__, gpu="rooftile.strategies.contract.gpu")
