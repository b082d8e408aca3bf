"""A thread for some of the data, and bins that atomics count: in global memory, or first in shared.
Source: PMPP, section 9.2; section 9.2 and 9.5 (interleaved partitioning); section 9.4; section 9.6
(aggregation)."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted
from rooftile.analysis.cooperation import chain, increments
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import GpuHistogram
from rooftile.strategies.histogram.gpu._shared import SharedHistogram


class Contiguous(GpuHistogram):
    """Reads of a warp lie a run apart."""

    name = "contiguous"
    summary = "a thread a run of neighbours, every element an atomic in global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256), Tunable("BLOCKS", (2, 4, 8), 8))

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        grid = self.persistent(problem, config)
        run = blocks(problem.count, grid * config["BLOCK"])
        launch = Launch(self.kernel(), (grid, 1, 1), (config["BLOCK"], 1, 1))
        return self.clearing(problem), self.counting(problem, launch, run=run)

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """One atomic an element in global memory, runs of neighbours a thread."""
        threads = self.persistent(problem, config) * config["BLOCK"]
        run = blocks(problem.count, threads)
        made = self.read(problem, run) + increments(problem.count, problem.bins, 1)
        return {self.kernel("clear"): self.zeros(problem), self.kernel(): made + chain(0, run)}


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


class Privatised(SharedHistogram):
    """As many bins as shared memory holds."""

    name = "privatised"
    summary = "a block's own bins in shared memory, added up at its end"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 512), Tunable("BLOCKS", (1, 2, 4), 2))

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        return self.in_shared(problem, config)


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


class Aggregated(GpuHistogram):
    """A thread holds back what it would add while the bin stays the same."""

    name = "aggregated"
    summary = "a thread adds once for neighbours of one bin"
    tunables = (
        Tunable("BLOCK", (64, 128, 256), 256),
        Tunable("RUN", (4, 8, 16, 32), 16),
        Tunable("BLOCKS", (2, 4, 8), 4),
    )

    def invalid(self, problem: Histogram, config: Config) -> str | None:
        return beyond_block(config["BLOCK"], 4 * config["BLOCK"] * (config["RUN"] + 1))

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        grid = (self.persistent(problem, config, config["RUN"]), 1, 1)
        return self.plain(problem, Launch(self.kernel(), grid, (config["BLOCK"], 1, 1)))

    def accesses(self, problem: Histogram, config: Config) -> Counted:
        """An atomic where a neighbour has another bin: of all elements but one in ``bins`` if they
        are random, of one in RUN if all are equal."""
        run, count = config["RUN"], problem.count
        share = 1 - (1 - 1 / run) / problem.bins
        made = self.read(problem) + chain(count, 2 * run)
        made += Accesses(
            atomics=count * share,
            turns=max(1.0, count * share / problem.bins),
            turns_if_equal=blocks(count, run),
            shared_reads=count / WARP,
        )
        return {self.kernel("clear"): self.zeros(problem), self.kernel(): made}


STRATEGIES = (Contiguous(), Strided(), Privatised(), Partial(), Aggregated())
