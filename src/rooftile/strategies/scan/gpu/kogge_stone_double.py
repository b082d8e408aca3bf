"""Rung 3, `kogge_stone_double`: the passes from one buffer into another, one barrier each.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 11.2
(double buffering).
"""

from __future__ import annotations

from rooftile.ops.scan import Scan
from rooftile.strategies.gpu import Config
from rooftile.strategies.scan.gpu._base import LineScan, itemsize


class KoggeStoneDouble(LineScan):
    """Takes every associative operator."""

    name = "kogge_stone_double"
    order = 3
    summary = "the passes from one buffer into another, one barrier each"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """Two buffers."""
        return 2 * config["BLOCK"] * itemsize(problem)


STRATEGY = KoggeStoneDouble()
