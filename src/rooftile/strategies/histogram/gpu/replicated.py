"""`replicated`: several copies of the bins in global memory. Source: PMPP, section 9.4
(privatization)."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import CLEAR_THREADS, GpuHistogram

_MOST_IN_COPIES = 2**28


class Replicated(GpuHistogram):
    """Blocks share out the copies; a second kernel adds them up."""

    name = "replicated"
    summary = "copies of the bins in global memory, shared out over the blocks"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512), 256),
        Tunable("COPIES", (2, 4, 8, 16, 32, 64), 16),
        Tunable("BLOCKS", (2, 4, 8), 8),
    )

    def invalid(self, problem: Histogram, config: Config) -> str | None:
        bins = config["COPIES"] * problem.bins
        return f"{bins} bins in all copies" if bins > _MOST_IN_COPIES else None

    def workspace(self, problem: Histogram, config: Config) -> dict[str, int]:
        words = 1 if problem.weighted else 2
        return {"copies": words * config["COPIES"] * problem.bins}

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        grid = (self.persistent(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        across = (blocks(problem.bins, CLEAR_THREADS), 1, 1)
        join = Launch(self.kernel("join"), across, (CLEAR_THREADS, 1, 1))
        return (
            self.clearing(problem, "copies", config["COPIES"] * problem.bins),
            self.counting(problem, launch, "copies"),
            Step(join, ("copies", problem.output_arrays[0].name, problem.bins)),
        )

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """One atomic an element in one of the copies, then their sum."""
        copies, bins = config["COPIES"], problem.bins
        threads = self.persistent(problem, config) * config["BLOCK"]
        size = problem.output_arrays[0].numpy.itemsize
        made = self.read(problem) + increments(problem.count, bins, copies)
        join = beside(copies * bins, size) + stored_beside(bins, size)
        return {
            self.kernel("clear"): stored_beside(copies * bins, size),
            self.kernel(): made + chain(0, blocks(problem.count, threads)),
            self.kernel("join"): join + chain(copies * bins, copies),
        }


STRATEGY = Replicated()
