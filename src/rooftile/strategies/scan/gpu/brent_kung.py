"""`brent_kung`: a tree up and down, fewer than two combinations an element.

Source: Brent, Kung, "A Regular Layout for Parallel Adders", IEEE TC C-31 (1982); Kirk, Hwu,
El Hajj, section 11.4.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import block_scan
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.scan.gpu._base import LineScan, itemsize


class BrentKung(LineScan):
    """Takes every associative operator."""

    name = "brent_kung"
    summary = "a tree up and down, fewer than two combinations an element"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """Two elements a thread."""
        return 2 * config["BLOCK"] * itemsize(problem)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Passes over sections of two elements a thread."""
        section = 2 * config["BLOCK"]
        count = problem.lines * blocks(problem.count, section)
        made = block_scan("brent_kung", section, count, itemsize(problem) // 4)
        return self.by_sections(problem, section, made)


STRATEGY = BrentKung()
