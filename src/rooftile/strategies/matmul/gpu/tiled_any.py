"""Rung 4, `tiled_any`: square tiles in shared memory, for sizes that no tile divides.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.5.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import SECTOR_FLOATS, Accesses, row_loads, row_stores, warps_of
from rooftile.analysis.divergence import guard_2d
from rooftile.analysis.traffic import matmul_tile
from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import Config, Tunable
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
        tile, rows, inner, columns = config["TILE"], problem.rows, problem.inner, problem.columns
        tiles = matmul_tile(rows, inner, columns, tile, tile)
        found = _loads(inner, rows, tiles.m_loads, tile, problem.transpose_a)
        found += _loads(columns, inner, tiles.n_loads, tile, problem.transpose_b)
        found += row_stores(columns, rows, lanes=tile)
        warps = blocks(rows, tile) * blocks(columns, tile) * warps_of(tile * tile)
        reads = warps * blocks(inner, tile) * tile * (1 + 1 / 4)
        guard = guard_2d(columns, rows, tile, tile)
        return {"matmul": found + Accesses(shared_reads=reads, divergent_warps=guard)}


STRATEGY = TiledAny()


def _loads(length: int, lines: int, loads: int, tile: int, transposed: bool) -> Accesses:
    """Loads of a matrix [lines][length], or of one that lies the other way round, where a row of
    lanes wants neighbours of a line."""
    count = loads // length
    if transposed:
        return row_loads(length, count, stride=lines, lanes=tile)
    return row_loads(length, count, lanes=tile, alignment=math.gcd(length, SECTOR_FLOATS))
