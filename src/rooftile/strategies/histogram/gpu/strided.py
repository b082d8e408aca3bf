"""`strided`: neighbouring threads take neighbouring elements, each an atomic.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.2
and 9.5 (interleaved partitioning).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import GpuHistogram


class Strided(GpuHistogram):
    """Reads of a warp follow each other."""

    name = "strided"
    summary = "a whole grid from element to element, every element an atomic in global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), Tunable("BLOCKS", (2, 4, 8), 8))

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        grid = (self.persistent(problem, config), 1, 1)
        return self.plain(problem, Launch(self.kernel(), grid, (config["BLOCK"], 1, 1)))

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """One atomic an element in global memory."""
        threads = self.persistent(problem, config) * config["BLOCK"]
        run = blocks(problem.count, threads)
        made = self.read(problem) + increments(problem.count, problem.bins, 1)
        return {self.kernel("clear"): self.zeros(problem), self.kernel(): made + chain(0, run)}


STRATEGY = Strided()
