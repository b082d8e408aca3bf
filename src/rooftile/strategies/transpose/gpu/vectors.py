"""`vectors`: a thread turns a square of elements in its registers."""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP, Accesses, vector_loads
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.transpose.gpu._base import MatrixTranspose

_SIDES = {1: 8, 2: 8, 4: 4, 8: 2}
"""Elements of a square's side by the bytes of an element: a vector of 8 or 16 bytes."""
_STATIC_BYTES = 48 * 1024
"""Shared memory that a kernel may have without asking for it."""
_LINE_BYTES = 128
_FEW_ACROSS = 16
"""Number of adjacent tiles below which a row of tiles is short."""
_LEAST_LONG = 4
"""Larger tiles in their longer direction: fewer leave too much of the last one empty."""
_LEAST_HIGH, _LEAST_WIDE = 3, 12
"""Blocks a multiprocessor that high and wide tiles have to leave, as timed on an H200."""


class Vectors(MatrixTranspose):
    """Takes matrices whose rows and columns are multiples of a square's side."""

    name = "vectors"
    tunables = (
        Tunable("SQUARES_DOWN", (16, 32), 16),
        Tunable("SQUARES_ACROSS", (16, 32), 16),
        Tunable("TILES_DOWN", (1, 32, 256, 1024), 1024),
    )
    summary = "squares of vectors, turned around in registers, whole rows through shared memory"

    def defaults(self, problem: Transpose) -> dict[str, int]:
        """Larger tiles of bytes; a row of few tiles at once, where rows of x begin inside a line
        that adjacent tiles share."""
        config = super().defaults(problem)
        if problem.matrices is None:
            return config
        if problem.itemsize == 1:
            config = self._larger(problem, config)
        _, _, columns = problem.matrices
        few = blocks(columns, self.tile(problem, config)[1]) <= _FEW_ACROSS
        inside = columns * problem.itemsize % _LINE_BYTES
        return {**config, "TILES_DOWN": 1} if few and inside else config

    def _larger(self, problem: Transpose, config: dict[str, int]) -> dict[str, int]:
        """With tiles twice as wide; or as high, where rows of the result begin inside a sector: at
        the edges of tiles sectors are stored in parts, and high tiles have fewer of them."""
        assert problem.matrices is not None
        _, rows, columns = problem.matrices
        if rows % SECTOR_BYTES:
            larger, least = {**config, "SQUARES_DOWN": 2 * config["SQUARES_DOWN"]}, _LEAST_HIGH
            long = blocks(rows, self.tile(problem, larger)[0])
        else:
            larger, least = {**config, "SQUARES_ACROSS": 2 * config["SQUARES_ACROSS"]}, _LEAST_WIDE
            long = blocks(columns, self.tile(problem, larger)[1])
        enough = self.tiles(problem, larger) >= least * self.machine.multiprocessors
        return larger if enough and long >= _LEAST_LONG else config

    def invalid(self, problem: Transpose, config: Config) -> str | None:
        height, width = self.tile(problem, config)
        needed = height * width * problem.itemsize
        if needed > _STATIC_BYTES:
            return f"{needed:,} bytes of shared memory a block, at most {_STATIC_BYTES:,}"
        threads = config["SQUARES_DOWN"] * config["SQUARES_ACROSS"]
        most = self.machine.block_threads
        return f"{threads} threads a block, at most {most}" if threads > most else None

    def tile(self, problem: Transpose, config: Config) -> tuple[int, int]:
        side = _side(problem)
        return config["SQUARES_DOWN"] * side, config["SQUARES_ACROSS"] * side

    def block(self, problem: Transpose, config: Config) -> tuple[int, int, int]:
        return config["SQUARES_ACROSS"], config["SQUARES_DOWN"], 1

    def limits(self, problem: Transpose) -> str | None:
        reason = super().limits(problem)
        if reason is not None or problem.matrices is None:
            return reason
        _, rows, columns = problem.matrices
        side = _side(problem)
        if rows % side or columns % side:
            return f"{rows} rows and {columns} columns, which must be multiples of {side}"
        return None

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SIDE": _side(problem)}

    def accesses(self, problem: Transpose, config: Config) -> Mapping[str, Accesses]:
        """See `GpuStrategy.accesses`: whole sectors everywhere, and no conflicts."""
        side, size = _side(problem), problem.itemsize
        found = vector_loads(problem.count / side, side, size)
        stored = Accesses(stores=problem.count, store_sectors=found.load_sectors)
        shared = Accesses(shared_reads=problem.count * size / (4 * WARP))
        return {self.kernel(): found + stored + shared}


def _side(problem: Transpose) -> int:
    return _SIDES[problem.itemsize]


STRATEGY = Vectors()
