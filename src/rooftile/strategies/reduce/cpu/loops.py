"""Rung 1, `loops`: one element after the other, on one thread.

What each addition of float32 rounds away is carried along: without that, the error of a sum of
many equal numbers would grow with their count.

Source: Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.reduce import Reduce
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def add_floats(x, sums, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are sums of float32."""
    columns = sizes[0]
    for unit in range(begin, end):
        total = lost = np.float32(0.0)
        for j in range(columns):
            corrected = x[unit * columns + j] - lost
            more = total + corrected
            lost = (more - total) - corrected
            # Beyond an infinity there is nothing to carry along.
            if lost != lost:
                lost = np.float32(0.0)
            total = more
        sums[unit] = total


@native
def add_bytes(x, sums, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are sums of bytes."""
    columns = sizes[0]
    for unit in range(begin, end):
        total = np.int64(0)
        for j in range(columns):
            total += x[unit * columns + j]
        sums[unit] = total


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "reduce"
    name = "loops"
    order = 1
    parallel = False
    summary = "one element after the other, on one thread"

    def why_not(self, problem: Reduce) -> str | None:
        """None: it takes everything."""
        return None

    def kernel(self, problem: Reduce) -> ArrayKernel:
        """See `ArrayStrategy.kernel`."""
        function = add_bytes if problem.dtype == "uint8" else add_floats
        return ArrayKernel(function, problem.rows, (problem.columns,))


STRATEGY = Loops()
