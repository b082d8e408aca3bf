"""Rung 1, `sequential`: one thread, one value after the other."""

from __future__ import annotations

from rooftile.ops.scatter import Scatter
from rooftile.strategies.scatter.gpu._base import GpuScatter


class Sequential(GpuScatter):
    """Takes every problem."""

    name = "sequential"
    order = 1
    atomic = False
    summary = "one thread, one value after the other"

    def threads(self, problem: Scatter) -> int:
        """See `GpuScatter.threads`."""
        return 1


STRATEGY = Sequential()
