"""`quads`: four neighbouring elements a thread, which needs all words that it draws.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

from rooftile.ops.layers.dropout import Dropout
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.dropout.gpu._base import GpuDropout


class Quads(GpuDropout):
    """The ten rounds of Philox are the work; each is done once for four elements."""

    name = "quads"
    summary = "four neighbouring elements a thread, which needs all words that it draws"

    def steps(self, problem: Dropout, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four elements."""
        return self.over(problem, 4, config)


STRATEGY = Quads()
