"""`loops`: the two parts of each row change places, on one thread."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.rotate import Rotate
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads

_SEGMENT = 2**16
"""Elements of a unit."""


@native
def move(x, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are segments of rows of y."""
    columns, places, segments, size = sizes[0], sizes[1], sizes[2], sizes[3]
    for unit in range(begin, end):
        start = unit // segments * columns
        first = unit % segments * size
        last = min(first + size, columns)
        for j in range(first, min(last, places)):
            y[start + j] = x[start + columns - places + j]
        for j in range(max(first, places), last):
            y[start + j] = x[start + j - places]


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "rotate"
    name = "loops"
    parallel = False
    summary = "the two parts of each row change places, on one thread"
    takes = features("dtype:*")

    def kernel(self, problem: Rotate) -> ArrayKernel:
        segments = -(-problem.columns // _SEGMENT)
        sizes = problem.columns, problem.places, segments, _SEGMENT
        return ArrayKernel(move, problem.rows * segments, sizes)


STRATEGIES = loops_and_threads(Loops())
