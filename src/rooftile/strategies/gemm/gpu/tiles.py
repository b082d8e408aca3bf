"""Products of matrices in float32 by tiles of results: what `linear` and `matmul` share on a GPU.

Source: PMPP, section 3.4 (matrix multiplication, a thread an element of the result), and section
6.1 (coalescing); PMPP, section 5.4, with the boundary checks of section 5.5, and section 6.1
(corner turning).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    row_loads,
    row_stores,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_bias, of_tiles

MOST = 2**31 - 1
"""The largest index of the texts: of a row, a term, a column or a block."""


class Product(GpuStrategy):
    """A GPU strategy whose text multiplies matrices, see ``operands.h``.

    Sizes are no macros: all problems whose matrices are laid out alike share a compilation.

    A layer's product is a matrix product by transposed weights with an epilogue: each operation
    says by `Product.product` which matrix product a problem is, and the rungs here count with
    that.
    """

    operands: ClassVar[tuple[str, ...]] = ("a", "b")
    """The arrays that kernels read, in their order; the last may be a bias."""

    @abstractmethod
    def product(self, problem: Any) -> Matmul:
        """The matrix product that a problem is, but for its epilogue."""

    def epilogue(self, problem: Any) -> dict[str, int | str]:
        """The macros of the epilogue; none where results are the sums."""
        return {}

    def limits(self, problem: Any) -> str | None:
        p = self.product(problem)
        # Threads of the last tile count on, beyond the sizes.
        largest = max(p.rows, p.inner, p.columns)
        return f"a size of {largest}: indices are 32-bit" if largest > MOST // 2 else None

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        p = self.product(problem)
        transposed = {"TRANSPOSE_A": int(p.transpose_a), "TRANSPOSE_B": int(p.transpose_b)}
        return {**transposed, **self.epilogue(problem), **config}

    def sizes(self, problem: Any) -> tuple[int, int, int]:
        p = self.product(problem)
        return p.rows, p.inner, p.columns


class TiledProduct(Product):
    """One kernel, whose blocks make a tile of results each."""

    overlaps: ClassVar[bool] = False
    """True if it may begin before the previous launch has ended."""

    @abstractmethod
    def tile(self, problem: Any, config: Config) -> tuple[int, int]: ...

    @abstractmethod
    def block(self, problem: Any, config: Config) -> tuple[int, int, int]: ...

    def limits(self, problem: Any) -> str | None:
        if reason := super().limits(problem):
            return reason
        tiles = self.tiles(problem, self.defaults(problem))
        return f"{tiles} tiles" if tiles > MOST else None

    def tiles(self, problem: Any, config: Config) -> int:
        """Blocks of the grid in x."""
        (rows, columns), p = self.tile(problem, config), self.product(problem)
        return blocks(p.rows, rows) * blocks(p.columns, columns)

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        grid = (self.tiles(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, self.block(problem, config), overlaps=self.overlaps)
        return (Step(launch, (*self.operands, "out", *self.sizes(problem))),)


class SquareProduct(TiledProduct):
    """Square tiles, a thread an element."""

    def tile(self, problem: Any, config: Config) -> tuple[int, int]:
        return config["TILE"], config["TILE"]

    def block(self, problem: Any, config: Config) -> tuple[int, int, int]:
        return config["TILE"], config["TILE"], 1


class NaiveProduct(TiledProduct):
    """Threads along x make neighbours of a row."""

    source = "naive"
    along_rows: ClassVar[bool] = False
    """True if threads along x make neighbours of a column instead."""

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        x, y, _ = self.block(problem, config)
        block = {"BLOCK_X": x, "BLOCK_Y": y, "ALONG_ROWS": int(self.along_rows)}
        return {**super().macros(problem, config), **block}

    def tile(self, problem: Any, config: Config) -> tuple[int, int]:
        x, y, _ = self.block(problem, config)
        return (x, y) if self.along_rows else (y, x)

    def block(self, problem: Any, config: Config) -> tuple[int, int, int]:
        return config["BLOCK_X"], config["BLOCK_Y"], 1

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """Lanes along x read one element of one matrix, and of the other as many as they are, which
        are neighbours or a line apart."""
        p, (x, y, _) = self.product(problem), self.block(problem, config)
        along, lines = (p.rows, p.columns) if self.along_rows else (p.columns, p.rows)
        lanes = min(WARP, x)
        apart = not p.transpose_a if self.along_rows else p.transpose_b
        products = p.rows * p.inner * p.columns
        found = broadcasts(products / min(lanes, along), min(lanes, along))
        if apart:
            found += row_loads(along, lines * p.inner, stride=p.inner, lanes=lanes)
        else:
            alignment = math.gcd(along, SECTOR_FLOATS)
            found += row_loads(along, lines * p.inner, lanes=lanes, alignment=alignment)
        stride = p.columns if self.along_rows else 1
        found += row_stores(along, lines, stride=stride, lanes=lanes)
        found += of_bias(self.operands, p, lanes)
        return {self.kernel(): found + Accesses(divergent_warps=guard_2d(along, lines, x, y))}


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
