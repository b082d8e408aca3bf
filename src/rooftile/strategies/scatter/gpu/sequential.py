"""`sequential`: one thread, one value after the other."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, scattered_loads, stored_apart
from rooftile.analysis.cooperation import chain
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


STRATEGY = Sequential()
