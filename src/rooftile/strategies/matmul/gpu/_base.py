"""What the textbook's rungs of `matmul` on GPUs share."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

MOST = 2**31 - 1
"""What an index of the texts reaches, of rows, terms, columns, or blocks."""


_FEW_PRODUCTS, _FEW_TERMS, _VERY_FEW_TERMS = 2**24, 256, 96


class GpuMatmul(GpuStrategy):
    """A GPU strategy of `matmul`; takes every problem.  Sizes are no macros: all problems whose
    matrices lie alike share a compilation."""

    operation = "matmul"
    takes = features("transpose_a transpose_b")
    wide_indices = True

    def limits(self, problem: Matmul) -> str | None:
        """Sizes that an index does not reach."""
        # Threads of the last tile count on, beyond the sizes.
        largest = max(problem.rows, problem.inner, problem.columns)
        return f"a size of {largest}: indices are 32-bit" if largest > MOST // 2 else None

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """How the matrices lie, and the tunables."""
        return {
            "TRANSPOSE_A": int(problem.transpose_a),
            "TRANSPOSE_B": int(problem.transpose_b),
            **config,
        }


def few_terms(problem: Matmul) -> str | None:
    """Why numbers are not split for so little; None where that pays."""
    if problem.inner < _VERY_FEW_TERMS:
        return f"it pays from {_VERY_FEW_TERMS} terms on"
    few = problem.flops <= 2 * _FEW_PRODUCTS and problem.inner <= _FEW_TERMS
    return f"up to {_FEW_TERMS} terms and {_FEW_PRODUCTS} products are few" if few else None


class TiledMatmul(GpuMatmul):
    """One kernel, whose blocks make a tile of results each."""

    def tile(self, config: Config) -> tuple[int, int]:
        """Rows and columns of a block's results."""
        raise NotImplementedError

    def block(self, config: Config) -> tuple[int, int, int]:
        """Threads of a block."""
        raise NotImplementedError

    def limits(self, problem: Matmul) -> str | None:
        """Sizes that an index does not reach, and more tiles than a grid has blocks."""
        few = min(tile for tile in self.tile(self.defaults(problem)))
        tiles = blocks(problem.rows, few) * blocks(problem.columns, few)
        return super().limits(problem) or (f"{tiles} tiles" if tiles > MOST else None)

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles."""
        rows, columns = self.tile(config)
        tiles = blocks(problem.rows, rows) * blocks(problem.columns, columns)
        launch = Launch(self.kernel(), (tiles, 1, 1), self.block(config))
        sizes = problem.rows, problem.inner, problem.columns
        return (Step(launch, ("a", "b", "out", *sizes)),)


class SquareMatmul(TiledMatmul):
    """Square tiles, a thread an element."""

    def tile(self, config: Config) -> tuple[int, int]:
        """See `TiledMatmul.tile`."""
        return config["TILE"], config["TILE"]

    def block(self, config: Config) -> tuple[int, int, int]:
        """See `TiledMatmul.block`."""
        return config["TILE"], config["TILE"], 1
