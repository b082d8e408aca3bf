"""Products of matrices in float32 by tiles of results: what `linear` and `matmul` share on a GPU.

A layer's product is a matrix product by transposed weights with an epilogue: each operation says by
`Product.product` which matrix product a problem is, and the rungs here count with that.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

MOST = 2**31 - 1
"""The largest index of the texts: of a row, a term, a column or a block."""


class Product(GpuStrategy):
    """A GPU strategy whose text multiplies matrices, see ``operands.h``.

    Sizes are no macros: all problems whose matrices are laid out alike share a compilation.
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
        """Sizes that an index does not reach."""
        p = self.product(problem)
        # Threads of the last tile count on, beyond the sizes.
        largest = max(p.rows, p.inner, p.columns)
        return f"a size of {largest}: indices are 32-bit" if largest > MOST // 2 else None

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        """How the matrices are laid out, the epilogue, and the tunables."""
        p = self.product(problem)
        transposed = {"TRANSPOSE_A": int(p.transpose_a), "TRANSPOSE_B": int(p.transpose_b)}
        return {**transposed, **self.epilogue(problem), **config}

    def sizes(self, problem: Any) -> tuple[int, int, int]:
        """Rows, terms and columns, which come with each launch."""
        p = self.product(problem)
        return p.rows, p.inner, p.columns


class TiledProduct(Product):
    """One kernel, whose blocks make a tile of results each."""

    overlaps: ClassVar[bool] = False
    """Whether it begins before the launch in front of it has ended."""

    @abstractmethod
    def tile(self, problem: Any, config: Config) -> tuple[int, int]:
        """Rows and columns of a block's results."""

    @abstractmethod
    def block(self, problem: Any, config: Config) -> tuple[int, int, int]:
        """Threads of a block."""

    def limits(self, problem: Any) -> str | None:
        """Sizes that an index does not reach, and more tiles than a grid has blocks."""
        if reason := super().limits(problem):
            return reason
        tiles = self.tiles(problem, self.defaults(problem))
        return f"{tiles} tiles" if tiles > MOST else None

    def tiles(self, problem: Any, config: Config) -> int:
        """Blocks of the grid in x."""
        (rows, columns), p = self.tile(problem, config), self.product(problem)
        return blocks(p.rows, rows) * blocks(p.columns, columns)

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles."""
        grid = (self.tiles(problem, config), 1, 1)
        launch = Launch(self.kernel(), grid, self.block(problem, config), overlaps=self.overlaps)
        return (Step(launch, (*self.operands, "out", *self.sizes(problem))),)


class SquareProduct(TiledProduct):
    """Square tiles, a thread an element."""

    def tile(self, problem: Any, config: Config) -> tuple[int, int]:
        """See `TiledProduct.tile`."""
        return config["TILE"], config["TILE"]

    def block(self, problem: Any, config: Config) -> tuple[int, int, int]:
        """See `TiledProduct.block`."""
        return config["TILE"], config["TILE"], 1
