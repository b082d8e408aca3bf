"""`loops`: one window after the other, on one thread.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations", ICANN 2010.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.gradients.nearest_places import NearestPlaces
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def between(value, least, most):  # type: ignore[no-untyped-def]
    """The value, or the bound that it is beyond."""
    return max(least, min(most, value))


@native
def each(where, nearest, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are windows; a quotient is rounded to zero."""
    width = sizes[2]
    for i in range(begin, end):
        top = i // sizes[1] % sizes[0] * sizes[5]
        left = i % sizes[1] * sizes[6]
        place = np.int64(where[i])
        row = place // width
        if place < 0:
            row = -(-place // width)
        column = place - row * width
        row = between(row, top, top + sizes[3] - 1)
        nearest[i] = row * width + between(column, left, left + sizes[4] - 1)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "nearest_places"
    name = "loops"
    parallel = False
    summary = "one window after the other, on one thread"

    def kernel(self, problem: NearestPlaces) -> ArrayKernel:
        pool = problem.pool
        sizes = (*problem.output_size, problem.width, *pool.window, *pool.stride)
        return ArrayKernel(each, problem.arrays[0].size, sizes)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
