"""`pairwise`: sums of sums, as a tree; the error grows with the tree's height only.

Neighbours are combined and never out of order, so that an operator need not be commutative.

Source: Higham, "The Accuracy of Floating Point Summation", SIAM J. Sci. Comput. 14 (1993).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through, tree_depth
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.operator import Operator
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.problem import Dtype
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.combining import combining

_LEAF = 128
"""Elements that are combined in turn."""

_TEXT = """
def kernel(x, results, sizes, begin, end):
    # waiting[level] is of 2^level leaves, and waits for its sister.
    columns, inner, leaf = sizes[0], sizes[1], sizes[2]
    waiting = np.empty(64, CARRIED)
    for unit in range(begin, end):
        at = unit // inner * columns * inner + unit % inner
        leaves = 0
        for first in range(0, columns, leaf):
            total = IDENTITY
            for j in range(first, min(first + leaf, columns)):
                total = combined(total, x[at + j * inner])
            level = 0
            # For each 1 at the low end of the binary count of leaves, a sister waits.
            while (leaves >> level) & 1:
                total = combined(waiting[level], total)
                level += 1
            waiting[level] = total
            leaves += 1
        total = IDENTITY
        for level in range(63):
            if (leaves >> level) & 1:
                total = combined(waiting[level], total)
        results[unit] = total
"""


class Pairwise(HostStrategy):
    """Takes every problem whose operator is associative; cores share out the results."""

    operation = "reduce"
    name = "pairwise"
    summary = "sums of sums, as a tree, the results shared out over the cores"
    takes = features("axis dtype:* operator.commutative operator:*")

    def units(self, problem: Reduce) -> int:
        return problem.rows

    def prepare(
        self, problem: Reduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        run = pairs(problem.operator, problem.dtype, problem.output_arrays[0].dtype)
        sizes = sizes_of(problem.columns, problem.inner)

        def call(x: AnyArray, results: AnyArray) -> None:
            run((x, results), sizes, problem.rows, threads)

        return call

    def accesses(self, problem: Reduce) -> Counted:
        """Leaves in order, then sums of sums."""
        count, leaf = problem.rows * problem.columns, min(_LEAF, problem.columns)
        steps = leaf + tree_depth(-(-problem.columns // leaf))
        return {"leaves and their tree": through(count, problem.rows, count, steps)}


def pairs(operator: Operator, given: Dtype, made: Dtype) -> cpu.Spread:
    """The kernel that reduces x[units / inner][columns][inner] along its middle axis."""
    carried = operator.carried(given)
    return combining("reduce_pairs", _TEXT, operator, (given, made), carried)


def sizes_of(columns: int, inner: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The kernel's sizes."""
    return np.array((columns, inner, _LEAF), np.int64)


STRATEGY = Pairwise()
