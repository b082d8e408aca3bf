"""`loops`: one element after the other, on one thread."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def select(x, index, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    columns, width = sizes[0], sizes[1]
    for i in range(begin, end):
        for j in range(width):
            # Nothing outside of the row is read, whatever the index says.
            y[i * width + j] = x[i * columns + min(max(index[j], 0), columns - 1)]


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "permute_columns"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("dtype:*")

    def kernel(self, problem: PermuteColumns) -> ArrayKernel:
        return ArrayKernel(select, problem.rows, (problem.columns, problem.width))


STRATEGIES = loops_and_threads(Loops())
