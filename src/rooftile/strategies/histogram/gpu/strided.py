"""Rung 2, `strided`: neighbouring threads take neighbouring elements, each an atomic.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.2
and 9.5 (interleaved partitioning).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.histogram import Histogram
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import GpuHistogram


class Strided(GpuHistogram):
    """Reads of a warp follow each other."""

    name = "strided"
    order = 2
    summary = "a whole grid from element to element, every element an atomic in global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), Tunable("BLOCKS", (2, 4, 8), 8))

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        """Zeros, then one kernel."""
        grid = (self.persistent(problem, config), 1, 1)
        return self.plain(problem, Launch("strided", grid, (config["BLOCK"], 1, 1)))


STRATEGY = Strided()
