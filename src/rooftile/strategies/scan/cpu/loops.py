"""`loops`: one element after the other, on one thread.

It keeps the order, so that an operator need not be associative. Of a sum of floating-point numbers
it carries along what each addition rounds away: without that, a sum of many equal numbers stops
growing, in float32 at 2^24 ones.

Source: PMPP, section 11.1; Knuth, "The Art of Computer Programming", volume 2, 4.2.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.scan_kernels import scanning

_TEXT = """
def kernel(x, y, sizes, begin, end):
    count, inner = sizes[0], sizes[1]
    for line in range(begin, end):
        at = first_of(line, count, inner)
        high = IDENTITY
        low = ZERO
        for element in range(count):
            before = value_of(high, low)
            value = CARRIED(x[at])
            low += lost_in(high, value)
            high = combined(high, value)
            y[at] = before if EXCLUSIVE else value_of(high, low)
            at += step_of(inner)
"""


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "scan"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features(
        "axis dtype:* exclusive operator.associative operator.commutative operator:* reverse"
    )

    def units(self, problem: Scan) -> int:
        return problem.lines

    def prepare(
        self, problem: Scan, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        way = problem.operator, problem.carried, problem.exclusive
        dtypes = problem.dtype, problem.output_arrays[0].dtype
        run = scanning("scan_loops", _TEXT, *way, dtypes, problem.reverse)
        sizes = np.array((problem.count, problem.inner), np.int64)

        def call(x: AnyArray, y: AnyArray) -> None:
            run((x, y), sizes, problem.lines, 1)

        return call

    def accesses(self, problem: Scan) -> Counted:
        """Each line's elements one after another."""
        count = problem.lines * problem.count
        return {"elements in order": through(count, count, count, problem.count)}


STRATEGY = Loops()
