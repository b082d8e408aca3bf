"""Square tiles in shared memory, with and without a column of padding. Source: Ruetsch,
Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.transpose.gpu._base import TILE, MatrixTranspose, column_reads, in_rows


class Tiled(MatrixTranspose):
    """Takes matrices, and batches of them."""

    name = "tiled"
    source = "tiled"
    summary = "a tile in shared memory, whose columns lie in one bank"
    tunables = (Tunable("DOWN", (4, 8, 16, 32), 8),)
    padding = 0
    """Elements between two rows of a tile."""

    def block(self, problem: Transpose, config: Config) -> tuple[int, int, int]:
        return TILE, config["DOWN"], 1

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "TILE": TILE, "PADDING": self.padding}

    def accesses(self, problem: Transpose, config: Config) -> Mapping[str, Accesses]:
        return {self.kernel(): in_rows(problem) + column_reads(problem, TILE + self.padding)}

    def picture(self, problem: Transpose, config: Config) -> Panels:
        """A tile in x, in shared memory and in y; a warp reads the row and writes the column."""
        assert problem.matrices is not None

        def part(asked: Callable[[int, int], bool]) -> Callable[[int, int], Cell]:
            return lambda i, j: Cell("warp" if asked(i, j) else "core" if j < TILE else "padding")

        pitch = TILE + self.padding
        return (
            panel("a tile of x, a row of it by a warp", (TILE, TILE), part(lambda i, j: i == 1)),
            panel("in shared memory, a column", (TILE, pitch), part(lambda i, j: j == 1)),
            panel("in y, a row", (TILE, TILE), part(lambda i, j: i == 1)),
        )


class Padded(Tiled):
    """Takes matrices, and batches of them."""

    name = family = "padded"
    summary = "a tile in shared memory, each element of a column in another bank"
    padding = 1


STRATEGIES = (Tiled(), Padded())
