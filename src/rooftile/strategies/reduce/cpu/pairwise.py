"""Rung 2, `pairwise`: sums of sums, as a tree; the error grows with the tree's height only.

Source: Higham, "The Accuracy of Floating Point Summation", SIAM J. Sci. Comput. 14 (1993).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.reduce import Reduce
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.reduce.cpu.loops import add_bytes

_LEAF = 128
"""Elements that are added in turn."""


@native
def add_pairs(x, sums, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are sums.  ``waiting[level]`` sums ``2^level`` leaves, and waits for its sister."""
    columns, leaf = sizes[0], sizes[1]
    waiting = np.empty(64, np.float32)
    for unit in range(begin, end):
        leaves = 0
        for first in range(0, columns, leaf):
            total = np.float32(0.0)
            for j in range(first, min(first + leaf, columns)):
                total += x[unit * columns + j]
            level = 0
            # For each 1 at the low end of the binary count of leaves, a sister waits.
            while (leaves >> level) & 1:
                total += waiting[level]
                level += 1
            waiting[level] = total
            leaves += 1
        total = np.float32(0.0)
        for level in range(63):
            if (leaves >> level) & 1:
                total += waiting[level]
        sums[unit] = total


class Pairwise(ArrayStrategy):
    """Takes every problem; cores share out the sums."""

    operation = "reduce"
    name = "pairwise"
    order = 2
    summary = "sums of sums, as a tree, the rows shared out over the cores"

    def why_not(self, problem: Reduce) -> str | None:
        """None: it takes everything."""
        return None

    def kernel(self, problem: Reduce) -> ArrayKernel:
        """See `ArrayStrategy.kernel`: integers need no tree."""
        function = add_bytes if problem.dtype == "uint8" else add_pairs
        return ArrayKernel(function, problem.rows, (problem.columns, _LEAF))


STRATEGY = Pairwise()
