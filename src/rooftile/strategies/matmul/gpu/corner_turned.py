"""Rung 5, `corner_turned`: tiles of a transposed matrix, loaded along its memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 6.1 (corner turning).
"""

from __future__ import annotations

from rooftile.ops.matmul import Matmul
from rooftile.strategies.gpu import Tunable
from rooftile.strategies.matmul.gpu._base import SquareMatmul


class CornerTurned(SquareMatmul):
    """Takes problems with a transposed matrix."""

    name = "corner_turned"
    order = 5
    summary = "tiles of a transposed matrix, loaded along its memory"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def why_not(self, problem: Matmul) -> str | None:
        """Matrices neither of which is transposed."""
        if not (problem.transpose_a or problem.transpose_b):
            return "neither matrix lies transposed: that is tiled_any"
        return super().why_not(problem)


STRATEGY = CornerTurned()
