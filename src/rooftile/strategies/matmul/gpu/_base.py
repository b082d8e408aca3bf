"""The base of `matmul`'s rungs on GPUs."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, row_stores
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.gemm.gpu.tiles import Product, SquareProduct, TiledProduct


class GpuMatmul(Product):
    """A GPU strategy of `matmul`; takes every problem."""

    operation = "matmul"
    takes = features("transpose_a transpose_b")
    wide_indices = True

    def product(self, problem: Matmul) -> Matmul:
        """The problem itself."""
        return problem


class TiledMatmul(TiledProduct, GpuMatmul):
    """See `TiledProduct`."""


class SquareMatmul(SquareProduct, GpuMatmul):
    """See `SquareProduct`."""


class WarpTiles(TiledMatmul):
    """Small tiles, each by all warps of a block, which share its terms."""

    overlaps = True
    tile_rows, tile_columns = 32, 16

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        return self.tile_rows, self.tile_columns

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        return 32 * config["WARPS"], 1, 1

    def tiles_a_multiprocessor(self, problem: Matmul) -> float:
        return self.tiles(problem, {}) / self.machine.multiprocessors

    def joined(self, problem: Matmul, config: Config) -> Accesses:
        """The accesses at the end: every warp's sums are read, and results stored."""
        added = self.tile_rows * self.tile_columns // WARP * config["WARPS"]
        reads = Accesses(shared_reads=self.tiles(problem, {}) * added)
        return reads + row_stores(problem.columns, problem.rows)
