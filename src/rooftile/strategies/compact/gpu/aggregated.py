"""`aggregated`: a block takes places for all of its elements by one atomic.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.6
(aggregation); Adinets, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics" (NVIDIA,
2014).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, stored_apart
from rooftile.analysis.cooperation import block_scan, in_turn, increments
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.compact.gpu._base import Counting
from rooftile.strategies.contract.gpu import Config


class Aggregated(Counting):
    """Takes problems whose elements may come in any order."""

    name = "aggregated"
    summary = "a block takes places by one atomic; the order of blocks is lost"

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """A block's sections take turns at one counter; a section's flags are scanned first."""
        block = config["BLOCK"]
        sections = blocks(problem.count, block)
        within = block_scan("kogge_stone", block, sections)
        made = self.kept(problem, config)
        made += in_turn(within, int(made.steps))
        return {
            self.kernel("clear"): stored_apart(1),
            self.kernel(): made + increments(sections, 1, 1),
        }


STRATEGY = Aggregated()
