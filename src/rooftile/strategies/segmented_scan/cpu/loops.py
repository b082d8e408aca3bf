"""`loops`: one segment after the other, on one thread.

It keeps the order, so that an operator need not be associative.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.scan_kernels import scanning

_TEXT = """
def kernel(x, offsets, y, sizes, begin, end):
    for segment in range(begin, end):
        high = IDENTITY
        low = ZERO
        for at in range(offsets[segment], offsets[segment + 1]):
            before = value_of(high, low)
            value = CARRIED(x[at])
            low += lost_in(high, value)
            high = combined(high, value)
            y[at] = before if EXCLUSIVE else value_of(high, low)
"""


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "segmented_scan"
    name = "loops"
    parallel = False
    summary = "one segment after the other, on one thread"
    takes = features(
        "dtype:* exclusive index:int32 operator.associative operator.commutative operator:*"
    )

    def units(self, problem: SegmentedScan) -> int:
        return problem.segments

    def prepare(
        self, problem: SegmentedScan, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        dtypes = tuple(array.dtype for array in problem.arrays)
        way = problem.operator, problem.carried, problem.exclusive
        run = scanning("segmented_loops", _TEXT, *way, dtypes)
        sizes = np.zeros(1, np.int64)

        def call(x: AnyArray, offsets: AnyArray, y: AnyArray) -> None:
            run((x, offsets, y), sizes, problem.segments, 1)

        return call

    def accesses(self, problem: SegmentedScan) -> Counted:
        """Segments of one length, each in order."""
        count = problem.count
        steps = -(-count // max(1, problem.segments))
        return {"elements in order": through(count, count, count, steps)}


STRATEGY = Loops()
