"""`in_place`: a square's blocks change places with those across the diagonal.

It needs no second array: ``out`` may be x.  Where it is not, x is copied first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import HostStrategy
from rooftile.strategies.transpose.cpu.blocked import why_no_matrices

_BLOCK_BYTES = 64


@native
def exchange(y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are bands of SIZE rows of a square, each with the columns right of its diagonal."""
    side, bands, size = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        start = unit // bands * side * side
        top = unit % bands * size
        bottom = min(top + size, side)
        for left in range(top, side, size):
            for i in range(top, bottom):
                for j in range(max(left, i + 1), min(left + size, side)):
                    held = y[start + i * side + j]
                    y[start + i * side + j] = y[start + j * side + i]
                    y[start + j * side + i] = held


class InPlace(HostStrategy):
    """Takes squares, and batches of them."""

    operation = "transpose"
    name = "in_place"
    summary = "blocks change places with those across the diagonal: out may be x"
    takes = features("axes dtype:*")

    def limits(self, problem: Transpose) -> str | None:
        return why_no_matrices(problem) or why_no_squares(problem)

    def units(self, problem: Transpose) -> int:
        assert problem.matrices is not None
        batch, side, _ = problem.matrices
        return batch * -(-side // (_BLOCK_BYTES // problem.itemsize))

    def native(self, problem: Transpose) -> tuple[Native, tuple[str, ...], bool]:
        return exchange, (problem.dtype,), False

    def prepare(
        self, problem: Transpose, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        assert problem.matrices is not None
        batch, side, _ = problem.matrices
        units = self.units(problem)
        sizes = np.array((side, units // batch, _BLOCK_BYTES // problem.itemsize), np.int64)
        run = cpu.Spread(exchange, (problem.dtype,))

        def call(x: AnyArray, y: AnyArray) -> None:
            # The shapes agree where axes of one element lie elsewhere, too.
            if cpu.address(x) != cpu.address(y):
                y.reshape(-1)[:] = x.reshape(-1)
            run((y,), sizes, units, threads)

        return call


def why_no_squares(problem: Transpose) -> str | None:
    """Why strategies for squares do not take a problem of matrices."""
    assert problem.matrices is not None
    _, rows, columns = problem.matrices
    return None if rows == columns else f"{rows} rows and {columns} columns are no square"


STRATEGY = InPlace()
