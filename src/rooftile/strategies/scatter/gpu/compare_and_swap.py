"""`compare_and_swap`: a thread a value, a loop of compare and swap."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, scattered_loads
from rooftile.ops.patterns.scatter import Scatter
from rooftile.strategies.scatter.gpu._base import GpuScatter


class CompareAndSwap(GpuScatter):
    """Takes every problem."""

    name = "compare_and_swap"
    summary = "a thread a value, a loop of compare and swap"

    def updates(self, problem: Scatter) -> Accesses:
        """See `GpuScatter.updates`: a read besides, and a swap that succeeds at once."""
        return super().updates(problem) + scattered_loads(problem.count)


STRATEGY = CompareAndSwap()
