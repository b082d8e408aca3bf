"""`loops`: one byte after the other."""

from __future__ import annotations

from made_up.problem import Agreeing
from rooftile.devices.cpu.native import native
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def count(rows, numbers, counts, sizes, begin, end):
    """Units are rows; the arrays are flat."""
    width = sizes[0]
    for row in range(begin, end):
        found = 0
        for j in range(width):
            if rows[row * width + j] & 7 == numbers[row] & 7:
                found += 1
        counts[row] = found


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "made_up"
    name = "loops"
    summary = "one byte after the other"

    def kernel(self, problem: Agreeing) -> ArrayKernel:
        """See `ArrayStrategy.kernel`."""
        return ArrayKernel(count, problem.height, (problem.width,))


STRATEGY = Loops()
