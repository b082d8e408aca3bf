"""Rung 5, `vectors`: a thread turns a square of elements in its registers."""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.analysis.accesses import WARP, Accesses, vector_loads
from rooftile.ops.transpose import Transpose
from rooftile.strategies.gpu import Config, Tunable
from rooftile.strategies.transpose.gpu._base import MatrixTranspose

_SQUARES = 16
"""Squares of a tile, in either direction."""
_SIDES = {1: 8, 2: 8, 4: 4, 8: 2}
"""Elements of a square's side by the bytes of an element: a vector of 8 or 16 bytes."""


class Vectors(MatrixTranspose):
    """Takes matrices whose rows and columns are multiples of a square's side."""

    name = "vectors"
    order = 5
    kernel = "vectors"
    tunables = (Tunable("TILES_DOWN", (1, 8, 32, 256), 256),)
    summary = "squares of vectors, turned around in registers, whole rows through shared memory"

    def tile(self, problem: Transpose) -> int:
        """See `MatrixTranspose.tile`."""
        return _SQUARES * _side(problem)

    def block(self, problem: Transpose, config: Config) -> tuple[int, int, int]:
        """A thread a square."""
        return _SQUARES, _SQUARES, 1

    def why_not(self, problem: Transpose) -> str | None:
        """Vectors need aligned rows in both arrays."""
        reason = super().why_not(problem)
        if reason is not None or problem.matrices is None:
            return reason
        _, rows, columns = problem.matrices
        side = _side(problem)
        if rows % side or columns % side:
            return f"{rows} rows and {columns} columns, which must be multiples of {side}"
        return None

    def macros(self, problem: Transpose, config: Config) -> dict[str, int | str]:
        """Also the sizes of a square and of a tile in squares."""
        return {**super().macros(problem, config), "SIDE": _side(problem), "SQUARES": _SQUARES}

    def accesses(self, problem: Transpose, config: Config) -> Mapping[str, Accesses]:
        """See `GpuStrategy.accesses`: whole sectors everywhere, and no conflicts."""
        side, size = _side(problem), problem.itemsize
        found = vector_loads(problem.count / side, side, size)
        stored = Accesses(stores=problem.count, store_sectors=found.load_sectors)
        shared = Accesses(shared_reads=problem.count * size / (4 * WARP))
        return {self.kernel: found + stored + shared}


def _side(problem: Transpose) -> int:
    return _SIDES[problem.itemsize]


STRATEGY = Vectors()
