"""GPU strategies in three launches: sections are counted, counts are scanned, elements move."""

from __future__ import annotations

from typing import Any

from rooftile.analysis.accesses import Counted, beside, stored_apart, stored_beside
from rooftile.analysis.cooperation import block_scan, chain, in_turn
from rooftile.devices.gpu import Launch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Tunable

RUN = Tunable("RUN", (1, 4, 16, 64), 16)
"""Elements of a thread; a block has ``BLOCK`` threads."""


class InSections(GpuStrategy):
    """Of problems of ``count`` elements in a line."""

    def sections(self, problem: Any, config: Config) -> int:
        """Sections, a block each."""
        return blocks(problem.count, config["BLOCK"] * config["RUN"])

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        return {"places": 2 * self.sections(problem, config)}

    def launches(self, problem: Any, config: Config, last: str) -> tuple[Launch, Launch, Launch]:
        """``count_sections``, ``scan_counts``, and the kernel that moves elements."""
        grid, block = (self.sections(problem, config), 1, 1), (config["BLOCK"], 1, 1)
        return (
            Launch(self.kernel("count_sections"), grid, block),
            Launch(self.kernel("scan_counts"), (1, 1, 1), block),
            Launch(self.kernel(last), grid, block),
        )

    def counted(
        self, problem: Any, config: Config, last: str, *, flags: int, moved: int
    ) -> Counted:
        """Accesses of the three kernels: ``flags`` bytes an element are read twice, and elements of
        ``moved`` bytes are read besides, where these are not the same. All are stored, at most.

        A section's flags are counted by a thread in RUN and scanned once; the last kernel scans
        them a block's width at a time.
        """
        block, sections, count = config["BLOCK"], self.sections(problem, config), problem.count
        told = beside(count, flags) + chain(count, config["RUN"])
        counting = told + block_scan("kogge_stone", block, sections) + stored_apart(sections)
        turns = blocks(sections, block)
        within = block_scan("kogge_stone", block, turns)
        between = beside(sections, 8) + stored_beside(sections + 1, 8)
        between += in_turn(within, turns)
        within = block_scan("kogge_stone", block, blocks(count, block))
        moving = told + beside(count, moved) + stored_beside(count, moved)
        moving += in_turn(within, config["RUN"])
        return {
            self.kernel("count_sections"): counting,
            self.kernel("scan_counts"): between,
            self.kernel(last): moving,
        }
