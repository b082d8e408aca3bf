"""`hardware`: a thread a value, whose update is one atomic instruction."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.scatter import Scatter
from rooftile.strategies.scatter.gpu._base import GpuScatter


class Hardware(GpuScatter):
    """Takes what there are atomics for."""

    name = "hardware"
    summary = "a thread a value, one atomic instruction"
    takes = features("dtype:* function:decrement,exchange,increment,max,min,subtract index:int64")

    def limits(self, problem: Scatter) -> str | None:
        extreme = problem.function in ("min", "max") and problem.dtype.startswith("float")
        if problem.function == "multiply" or extreme:
            return f"there is no atomic {problem.function} of {problem.dtype}"
        return super().limits(problem)


STRATEGY = Hardware()
