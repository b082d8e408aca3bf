"""The base of the GPU strategies of `transpose`."""

from __future__ import annotations

import math

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES, bank_conflicts
from rooftile.analysis.accesses import WARP, Accesses, row_loads, row_stores
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

TILE = 32
"""Rows and columns of a tile of single elements."""
_MOST_TILES = 2**31 - 1


class GpuTranspose(GpuStrategy):
    """A GPU strategy of `transpose`."""

    operation = "transpose"
    takes = features("axes dtype:*")
    wide_indices = True

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        return {"BYTES": problem.itemsize, **config}


class MatrixTranspose(GpuTranspose):
    """A strategy that takes matrices in tiles."""

    def tile(self, problem: Transpose, config: Config) -> tuple[int, int]:
        return TILE, TILE

    def block(self, problem: Transpose, config: Config) -> tuple[int, int, int]:
        raise NotImplementedError

    def limits(self, problem: Transpose) -> str | None:
        if problem.matrices is None:
            return f"axes {problem.axes} of {problem.shape} transpose no matrices"
        tiles = self.tiles(problem, self.defaults(problem))
        return f"{tiles} tiles, at most {_MOST_TILES}" if tiles > _MOST_TILES else None

    def steps(self, problem: Transpose, config: Config) -> tuple[Step, ...]:
        assert problem.matrices is not None
        grid = (self.tiles(problem, config), min(problem.matrices[0], MOST_BLOCKS), 1)
        launch = Launch(self.kernel(), grid, self.block(problem, config))
        return (Step(launch, ("x", "y", *map(np.int64, self.sizes(problem)))),)

    def sizes(self, problem: Transpose) -> tuple[int, ...]:
        assert problem.matrices is not None
        return problem.matrices

    def tiles(self, problem: Transpose, config: Config) -> int:
        assert problem.matrices is not None
        (_, rows, columns), (height, width) = problem.matrices, self.tile(problem, config)
        return blocks(rows, height) * blocks(columns, width)


def in_rows(problem: Transpose) -> Accesses:
    """Loads along the rows of x, stores along the rows of y, all by neighbouring threads."""
    assert problem.matrices is not None
    (batch, rows, columns), size = problem.matrices, problem.itemsize
    alignment = math.gcd(columns, SECTOR_BYTES // size)
    found = row_loads(columns, batch * rows, alignment=alignment, elem_bytes=size)
    return found + row_stores(rows, batch * columns, elem_bytes=size)


def column_reads(problem: Transpose, pitch: int) -> Accesses:
    """Reads of tiles in shared memory by columns, whose elements lie ``pitch`` elements apart."""
    size = problem.itemsize
    if size == 8:  # A warp's halves take turns, and each element has two words.
        passes = 2 * bank_conflicts(2 * t * pitch + w for t in range(WARP // 2) for w in (0, 1))
    else:
        passes = bank_conflicts(t * pitch * size // 4 for t in range(WARP))
    return Accesses(shared_reads=passes * problem.count / WARP)
