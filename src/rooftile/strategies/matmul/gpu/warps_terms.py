"""`warps_terms`: small tiles, each by all warps of a block, for small products."""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matmul.gpu._base import TiledMatmul
from rooftile.strategies.matmul.gpu.register_tile import fours_loaded, vectors

_ROWS, _COLUMNS, _DEEP = 32, 16, 16
"""Of a tile, and the terms of it that a warp has at a time."""
_MOST_TERMS, _MOST_TILES = 512, 2
"""With more terms, or tiles a multiprocessor, other rungs have enough to do at a time."""
_MANY_TERMS = 256
"""From so many on, more warps share those of few tiles."""


class WarpsTerms(TiledMatmul):
    """Takes every problem."""

    name = "warps_terms"
    summary = "small tiles, each by all warps of a block, a warp its own terms"
    tunables = (Tunable("WARPS", (4, 8), 8),)

    def why_slow(self, problem: Matmul) -> str | None:
        """Many terms or tiles."""
        most = _MOST_TILES * self.machine.multiprocessors
        many = problem.inner > _MOST_TERMS or _tiles(problem) > most
        return f"it pays up to {_MOST_TERMS} terms and {most} tiles" if many else None

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """More warps where few tiles have many terms."""
        few = _tiles(problem) <= self.machine.multiprocessors
        return {"WARPS": 8 if few and problem.inner >= _MANY_TERMS else 4}

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """And which matrices have rows of whole 16 bytes."""
        return {**super().macros(problem, config), **vectors(problem)}

    def tile(self, config: Config) -> tuple[int, int]:
        """See `TiledMatmul.tile`."""
        return _ROWS, _COLUMNS

    def block(self, config: Config) -> tuple[int, int, int]:
        """Warps."""
        return 32 * config["WARPS"], 1, 1

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles, which overlaps the launch before."""
        (step,) = super().steps(problem, config)
        return (replace(step, launch=replace(step.launch, overlaps=True)),)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Tiles loaded in vectors of four; a lane reads four rows' values and four columns' of
        each term of its warp, and at the end every warp's sums."""
        down, across = blocks(problem.rows, _ROWS), blocks(problem.columns, _COLUMNS)
        found = fours_loaded(
            problem.arrays[0].shape, across, _ROWS if problem.transpose_a else _DEEP
        )
        found += fours_loaded(
            problem.arrays[1].shape, down, _DEEP if problem.transpose_b else _COLUMNS
        )
        share = config["WARPS"] * _DEEP
        steps = blocks(problem.inner, share) * share
        added = _ROWS * _COLUMNS // 32 * config["WARPS"]
        found += Accesses(shared_reads=down * across * (2 * steps + added))
        return {self.kernel(): found + row_stores(problem.columns, problem.rows)}


STRATEGY = WarpsTerms()


def _tiles(problem: Matmul) -> int:
    return blocks(problem.rows, _ROWS) * blocks(problem.columns, _COLUMNS)
