"""`blocked`: square blocks, whose lines of x are read once and stay in the cache.

In the order of the result every element comes from another line, which is gone from the cache
before its next element is wanted.  Here a line is used up while its block is worked on.
"""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.costs import Work

_BLOCK_BYTES = 64
"""Bytes of a block's row: a line."""


@native
def move_blocks(x, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are bands of SIZE columns of a matrix."""
    rows, columns, bands, size = sizes[0], sizes[1], sizes[2], sizes[3]
    for unit in range(begin, end):
        start = unit // bands * rows * columns
        left = unit % bands * size
        right = min(left + size, columns)
        for top in range(0, rows, size):
            bottom = min(top + size, rows)
            for j in range(left, right):
                for i in range(top, bottom):
                    y[start + j * rows + i] = x[start + i * columns + j]


class Blocked(ArrayStrategy):
    """Takes matrices, and batches of them."""

    operation = "transpose"
    name = "blocked"
    summary = "square blocks on every core: lines of x stay in the cache until they are used up"
    takes = features("axes dtype:*")

    def limits(self, problem: Transpose) -> str | None:
        return why_no_matrices(problem)

    def work(self, problem: Transpose) -> Work:
        """See `Strategy.work`: an element counts as an operation."""
        return Work(problem.count, problem.bytes, self.units(problem))

    def kernel(self, problem: Transpose) -> ArrayKernel:
        assert problem.matrices is not None
        batch, rows, columns = problem.matrices
        size = _BLOCK_BYTES // problem.itemsize
        bands = -(-columns // size)
        return ArrayKernel(move_blocks, batch * bands, (rows, columns, bands, size))


def why_no_matrices(problem: Transpose) -> str | None:
    """Why strategies for matrices do not take a problem."""
    if problem.matrices is None:
        return f"axes {problem.axes} of {problem.shape} transpose no matrices"
    return None


STRATEGY = Blocked()
