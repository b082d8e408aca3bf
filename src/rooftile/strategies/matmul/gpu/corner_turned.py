"""`corner_turned`: tiles of a transposed matrix, loaded along its memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 6.1 (corner turning).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.matmul.gpu._accesses import of_tiles
from rooftile.strategies.matmul.gpu._base import SquareMatmul


class CornerTurned(SquareMatmul):
    """Takes problems with a transposed matrix."""

    name = "corner_turned"
    summary = "tiles of a transposed matrix, loaded along its memory"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def limits(self, problem: Matmul) -> str | None:
        """Matrices neither of which is transposed."""
        if not (problem.transpose_a or problem.transpose_b):
            return "neither matrix lies transposed: that is tiled_any"
        return super().limits(problem)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """The textbook's count of loads, all along memory; a step reads a value of b a lane, and
        one of a for a row of lanes."""
        tile = config["TILE"]
        lanes, threads = (tile, tile, tile), (tile, tile)
        return {self.kernel(): of_tiles(problem, (tile, tile), lanes, threads, 2, turned=True)}


STRATEGY = CornerTurned()
