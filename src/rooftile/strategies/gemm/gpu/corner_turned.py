"""Square tiles of both matrices in shared memory, loaded along memory.

Source: PMPP, section 5.4, with the boundary checks of section 5.5, and section 6.1 (corner
turning).
"""

from __future__ import annotations

from typing import Any

from rooftile.analysis.accesses import Accesses
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_bias, of_tiles
from rooftile.strategies.gemm.gpu.tiles import SquareProduct


class CornerTurnedProduct(SquareProduct):
    """A value that was read from global memory serves TILE threads."""

    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """The textbook's count of loads, all along memory; a step reads a value of b a lane, and
        one of a for a row of lanes: four steps at a time, unless padding stands between them."""
        p, tile = self.product(problem), config["TILE"]
        reads = 2 if p.transpose_a else 1 + 1 / 4
        lanes, threads = (tile, tile, tile), (tile, tile)
        found = of_tiles(p, (tile, tile), lanes, threads, reads, turned=True)
        return {self.kernel(): found + of_bias(self.operands, p, tile)}
