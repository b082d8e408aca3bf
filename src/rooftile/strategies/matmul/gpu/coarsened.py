"""`coarsened`: a thread makes a strip of 1 x 16 results.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 6.3
(thread coarsening).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_tiles
from rooftile.strategies.matmul.gpu._base import TiledMatmul


class Coarsened(TiledMatmul):
    """Takes every problem."""

    name = "coarsened"
    summary = "a strip of 1 x 16 results a thread: a's tiles are loaded once for all"
    tunables = (Tunable("TILE", (8, 16), 16), Tunable("STRIP", (2, 4, 8, 16), 16))

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        """See `TiledProduct.tile`."""
        return config["TILE"], config["TILE"] * config["STRIP"]

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        """A thread a strip."""
        return config["TILE"], config["TILE"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A step reads a value of b for each tile of the strip, and one of a for all."""
        tile, reads = config["TILE"], config["STRIP"] + 1 / 4
        found = of_tiles(
            problem, self.tile(problem, config), (tile, tile, tile), (tile, tile), reads
        )
        return {self.kernel(): found}


STRATEGY = Coarsened()
