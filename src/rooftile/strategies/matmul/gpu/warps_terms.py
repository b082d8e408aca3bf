"""`warps_terms`: small tiles, each by all warps of a block, for small products."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.register_tile import fours_loaded, vectors
from rooftile.strategies.matmul.gpu._base import WarpTiles

_DEEP = 16
"""Terms of a tile that a warp has at a time."""
_MANY_TERMS = 256
"""Number of terms from which more warps share the terms of few tiles."""


class WarpsTerms(WarpTiles):
    """Takes every problem."""

    name = "warps_terms"
    summary = "small tiles, each by all warps of a block, a warp its own terms"
    tunables = (Tunable("WARPS", (4, 8), 8),)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """More warps where few tiles have many terms."""
        few = self.tiles_a_multiprocessor(problem) <= 1
        return {"WARPS": 8 if few and problem.inner >= _MANY_TERMS else 4}

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), **vectors(problem)}

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Tiles loaded in vectors of four; a lane reads four rows' values and four columns' of
        each term of its warp, and at the end every warp's sums."""
        (rows, columns), (a, b) = self.tile(problem, config), problem.arrays[:2]
        down, across = blocks(problem.rows, rows), blocks(problem.columns, columns)
        found = fours_loaded(a.shape, across, rows if problem.transpose_a else _DEEP)
        found += fours_loaded(b.shape, down, _DEEP if problem.transpose_b else columns)
        share = config["WARPS"] * _DEEP
        steps = blocks(problem.inner, share) * share
        found += Accesses(shared_reads=down * across * 2 * steps)
        return {self.kernel(): found + self.joined(problem, config)}


STRATEGY = WarpsTerms()
