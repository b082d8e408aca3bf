"""Rung 8, `matched`: the threads of a warp find those of the same bin.

Source: NVIDIA, "CUDA C++ Programming Guide", warp match functions; Kirk, Hwu, El Hajj,
"Programming Massively Parallel Processors", 4th ed., section 9.6.
"""

from __future__ import annotations

from rooftile.ops.histogram import Histogram
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._shared import SharedHistogram


class Matched(SharedHistogram):
    """Counts only: weights of a warp would have to be added first."""

    name = "matched"
    order = 8
    devices = ("cuda",)
    least_architecture = 70
    summary = "one thread of a warp adds for all of the same bin"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 2))

    def why_not(self, problem: Histogram) -> str | None:
        """Weights; more bins than a block has room for."""
        return "weights" if problem.weighted else super().why_not(problem)

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        """Zeros, then one kernel."""
        return self.in_shared(problem, config)


STRATEGY = Matched()
