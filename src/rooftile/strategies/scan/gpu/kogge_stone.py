"""`kogge_stone`: a block a line, passes over sections, two barriers a pass.

Source: Kogge, Stone, "A Parallel Algorithm for the Efficient Solution of a General Class of
Recurrence Equations", IEEE TC C-22 (1973); Kirk, Hwu, El Hajj, section 11.2.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import block_scan
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.scan.gpu._base import LineScan, itemsize


class KoggeStone(LineScan):
    """Takes every associative operator."""

    name = "kogge_stone"
    summary = "a block a line, passes over sections, two barriers a pass"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """An element a thread."""
        return config["BLOCK"] * itemsize(problem)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Passes over sections of an element a thread."""
        section = config["BLOCK"]
        count = problem.lines * blocks(problem.count, section)
        made = block_scan("kogge_stone", section, count, itemsize(problem) // 4)
        return self.by_sections(problem, section, made)


STRATEGY = KoggeStone()
