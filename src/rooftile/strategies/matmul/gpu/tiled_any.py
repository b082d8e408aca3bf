"""Rung 4, `tiled_any`: square tiles in shared memory, for sizes that no tile divides.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.5.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.matmul import Matmul
from rooftile.strategies.gpu import Config, Tunable
from rooftile.strategies.matmul.gpu._accesses import of_tiles
from rooftile.strategies.matmul.gpu._base import SquareMatmul


class TiledAny(SquareMatmul):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled_any"
    order = 4
    summary = "square tiles in shared memory, for any sizes"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """The textbook's count of loads; a step reads a value of b a lane, and one of a for a row
        of lanes, four steps at a time."""
        tile = config["TILE"]
        found = of_tiles(problem, (tile, tile), (tile, tile, tile), (tile, tile), 1 + 1 / 4)
        return {"matmul": found}


STRATEGY = TiledAny()
