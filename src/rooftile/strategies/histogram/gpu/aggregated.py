"""`aggregated`: what equal neighbours add is added at once.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.6
(aggregation).
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._base import GpuHistogram


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


STRATEGY = Aggregated()
