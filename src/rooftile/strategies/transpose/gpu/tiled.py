"""Rung 3, `tiled`: a block turns a tile around in shared memory, whose banks collide.

Source: Ruetsch, Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009).
"""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.analysis.accesses import Accesses
from rooftile.ops.transpose import Transpose
from rooftile.strategies.gpu import Config, Tunable
from rooftile.strategies.transpose.gpu._base import TILE, MatrixTranspose, column_reads, in_rows


class Tiled(MatrixTranspose):
    """Takes matrices, and batches of them."""

    name = "tiled"
    order = 3
    source = kernel = "tiled"
    summary = "a tile in shared memory, whose columns lie in one bank"
    tunables = (Tunable("DOWN", (4, 8, 16, 32), 8),)
    padding = 0
    """Elements between two rows of a tile."""

    def block(self, problem: Transpose, config: Config) -> tuple[int, int, int]:
        """A row of a tile by DOWN of its rows."""
        return TILE, config["DOWN"], 1

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        """Also the tile's size, and what lies between its rows."""
        return {**super().macros(problem, config), "TILE": TILE, "PADDING": self.padding}

    def accesses(self, problem: Transpose, config: Config) -> Mapping[str, Accesses]:
        """See `GpuStrategy.accesses`."""
        return {self.kernel: in_rows(problem) + column_reads(problem, TILE + self.padding)}


STRATEGY = Tiled()
