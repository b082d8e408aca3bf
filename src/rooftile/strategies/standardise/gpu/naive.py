"""`naive`: one thread a pixel, whose number comes from global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

from rooftile.ops.patterns.standardise import Standardise
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.standardise.gpu._base import GpuStandardise


class Naive(GpuStandardise):
    """Each access moves a pixel or a number."""

    name = "naive"
    summary = "one thread a pixel, whose number comes from global memory"

    def steps(self, problem: Standardise, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a pixel."""
        return self.over(problem, 1, config)


STRATEGY = Naive()
