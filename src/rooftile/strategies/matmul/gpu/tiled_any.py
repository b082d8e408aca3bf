"""`tiled_any`: square tiles in shared memory, for sizes that no tile divides.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.5.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Cell, Panels, Role, panel, result_tile
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_tiles
from rooftile.strategies.matmul.gpu._base import SquareMatmul


class TiledAny(SquareMatmul):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled_any"
    summary = "square tiles in shared memory, for any sizes"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """The textbook's count of loads; a step reads a value of b a lane, and one of a for a row
        of lanes, four steps at a time."""
        tile = config["TILE"]
        found = of_tiles(problem, (tile, tile), (tile, tile, tile), (tile, tile), 1 + 1 / 4)
        return {self.kernel(): found}

    def picture(self, problem: Matmul, config: Config) -> Panels:
        """The first tiles of a and b, what they are followed by, and the result's tile."""
        tile, one = config["TILE"], config["TILE"] // 2
        rows, inner, columns = problem.rows, problem.inner, problem.columns

        def cell(i: int, j: int, of_a: bool) -> Cell:
            across, along = (i, j) if of_a else (j, i)
            if across >= tile:
                return Cell("other")
            role: Role = "used" if across == one else "core" if along < tile else "later"
            return Cell(role, str(i * tile + j) if along < tile else "")

        return (
            panel("a, by the thread that loads it", (rows, inner), lambda i, k: cell(i, k, True)),
            panel("b", (inner, columns), lambda k, j: cell(k, j, False)),
            result_tile(
                "out", (rows, columns), (tile, tile), lambda i, j: i * tile + j, (one, one)
            ),
        )


STRATEGY = TiledAny()
