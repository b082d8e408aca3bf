"""`pairwise`: segments shared out over the cores, each combined as a tree. Source: Higham, "The
Accuracy of Floating Point Summation", SIAM J. Sci. Comput. 14 (1993)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through, tree_depth
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.combining import combining
from rooftile.strategies.segmented_reduce.cpu._base import CpuSegmented, length_of

_LEAF = 128
"""Elements that are combined in order."""

_TEXT = """
def kernel(x, offsets, results, sizes, begin, end):
    # waiting[level] is of 2^level leaves, and waits for its sister.
    waiting = np.empty(64, CARRIED)
    for s in range(begin, end):
        stop = offsets[s + 1]
        leaves = 0
        for first in range(offsets[s], stop, LEAF):
            total = IDENTITY
            for j in range(first, min(first + LEAF, stop)):
                total = combined(total, x[j])
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
        results[s] = total
""".replace("LEAF", str(_LEAF))


class Pairwise(CpuSegmented):
    """Takes every problem whose operator is associative."""

    name = "pairwise"
    summary = "segments over the cores, each combined as a tree"
    takes = features("dtype:* offsets:int32 operator.commutative operator:*")

    def prepare(
        self, problem: SegmentedReduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        dtypes = (problem.dtype, problem.offsets, problem.output_arrays[0].dtype)
        run = combining("segmented_pairs", _TEXT, problem.operator, dtypes, problem.carried)
        nothing = np.zeros(1, np.int64)

        def call(x: AnyArray, offsets: AnyArray, results: AnyArray) -> None:
            run((x, offsets, results), nothing, problem.segments, threads)

        return call

    def accesses(self, problem: SegmentedReduce) -> Counted:
        """Segments of one length, each as a tree of leaves."""
        count, length = problem.count, length_of(problem)
        leaf = min(_LEAF, length)
        steps = leaf + tree_depth(-(-length // leaf))
        return {"leaves and their trees": through(count, problem.segments, count, steps)}


STRATEGY = Pairwise()
