"""Elements of a result that several threads reach."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, scattered_loads, stored_apart
from rooftile.analysis.cooperation import chain
from rooftile.ops.features import features
from rooftile.ops.patterns.scatter import Scatter
from rooftile.strategies.scatter.gpu._base import GpuScatter


class Sequential(GpuScatter):
    """Takes every problem."""

    name = "sequential"
    atomic = False
    summary = "one thread, one value after the other"

    def threads(self, problem: Scatter) -> int:
        return 1

    def updates(self, problem: Scatter) -> Accesses:
        """A read, an operation and a store a value, one after another."""
        moved = scattered_loads(problem.count) + stored_apart(problem.count)
        return moved + chain(problem.count, problem.count)


class CompareAndSwap(GpuScatter):
    """Takes every problem."""

    name = "compare_and_swap"
    summary = "a thread a value, a loop of compare and swap"

    def updates(self, problem: Scatter) -> Accesses:
        """See `GpuScatter.updates`: a read besides, and a swap that succeeds at once."""
        return super().updates(problem) + scattered_loads(problem.count)


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


STRATEGIES = (Sequential(), CompareAndSwap(), Hardware())
