"""`kogge_stone_double`: the passes from one buffer into another, one barrier each.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 11.2
(double buffering).
"""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import WARP, Counted
from rooftile.analysis.cooperation import block_scan
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.scan.gpu._base import LineScan, itemsize


class KoggeStoneDouble(LineScan):
    """Takes every associative operator."""

    name = "kogge_stone_double"
    summary = "the passes from one buffer into another, one barrier each"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """Two buffers."""
        return 2 * config["BLOCK"] * itemsize(problem)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Passes over sections; threads without a neighbour copy, so that no warp idles."""
        block, words = config["BLOCK"], itemsize(problem) // 4
        count = problem.lines * blocks(problem.count, block)
        made = block_scan("kogge_stone", block, count, words)
        reads = 2 * words * block / WARP * (block - 1).bit_length() * count
        return self.by_sections(problem, block, replace(made, shared_reads=reads))


STRATEGY = KoggeStoneDouble()
