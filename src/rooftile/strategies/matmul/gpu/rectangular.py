"""`rectangular`: wide tiles, so that a passes less often.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.4, with
tiles of another shape.
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import beyond_block
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_tiles
from rooftile.strategies.matmul.gpu._base import TiledMatmul


class Rectangular(TiledMatmul):
    """Takes every problem."""

    name = "rectangular"
    summary = "tiles of 16 x 64 results, so that a passes less often"
    tunables = (Tunable("TILE_ROWS", (4, 8, 16), 16), Tunable("TILE_COLUMNS", (32, 64, 128), 64))

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """Too many threads."""
        return beyond_block(config["TILE_ROWS"] * config["TILE_COLUMNS"])

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        """See `TiledProduct.tile`."""
        return config["TILE_ROWS"], config["TILE_COLUMNS"]

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        """A thread an element."""
        return config["TILE_COLUMNS"], config["TILE_ROWS"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A step reads a value of b a lane, and one of a for a row of lanes, four steps at a
        time; the first TILE_ROWS lanes of a row load a."""
        rows, columns = self.tile(problem, config)
        lanes = (rows, min(WARP, columns), min(WARP, columns))
        found = of_tiles(problem, (rows, columns), lanes, (columns, rows), 1 + 1 / 4)
        return {self.kernel(): found}


STRATEGY = Rectangular()
