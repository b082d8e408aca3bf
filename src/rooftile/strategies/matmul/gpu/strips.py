"""Rung 6, `strips`: tiles a single term deep.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.4, with
tiles of another shape.
"""

from __future__ import annotations

from rooftile.strategies.gpu import Tunable
from rooftile.strategies.matmul.gpu._base import SquareMatmul


class Strips(SquareMatmul):
    """Takes every problem."""

    name = "strips"
    order = 6
    summary = "tiles a single term deep"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)


STRATEGY = Strips()
