"""`partial`: the first bins in shared memory, the others in global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.4.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import GpuHistogram


class Partial(GpuHistogram):
    """Pays where most elements lie in the first bins."""

    name = "partial"
    summary = "the first bins in shared memory, the others in global memory"
    tunables = (
        Tunable("BLOCK", (128, 256, 512), 256),
        Tunable("PRIVATE", (256, 1024, 4096, 8192), 1024),
        Tunable("BLOCKS", (2, 4, 8), 4),
    )

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        grid = (self.persistent(problem, config), 1, 1)
        return self.plain(problem, Launch(self.kernel(), grid, (config["BLOCK"], 1, 1)))

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """Evenly distributed elements: the first bins' in shared memory, the others not."""
        grid, bins = self.persistent(problem, config), problem.bins
        private = min(config["PRIVATE"], bins)
        own = problem.count * private / bins
        made = self.read(problem) + chain(0, blocks(problem.count, grid * config["BLOCK"]))
        made += increments(own, private, grid, shared=True) + self.flushed(private, grid)
        if bins > private:
            made += increments(problem.count - own, bins - private, 1)
        return {self.kernel("clear"): self.zeros(problem), self.kernel(): made}


STRATEGY = Partial()
