"""`loops`: one element after the other, on one thread.

It keeps the order, so that an operator need not be associative.  Of a sum of floating-point numbers
it carries along what each addition rounds away: without that, the error of a sum of many equal
numbers would grow with their count.

Source: Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.combining import combining

_TEXT = """
def kernel(x, results, sizes, begin, end):
    columns, inner = sizes[0], sizes[1]
    for unit in range(begin, end):
        at = unit // inner * columns * inner + unit % inner
        total = IDENTITY
        for j in range(columns):
            total = combined(total, x[at + j * inner])
        results[unit] = total
"""
_SUM = """
def kernel(x, results, sizes, begin, end):
    columns, inner = sizes[0], sizes[1]
    for unit in range(begin, end):
        at = unit // inner * columns * inner + unit % inner
        total = IDENTITY
        lost = IDENTITY
        for j in range(columns):
            corrected = x[at + j * inner] - lost
            more = total + corrected
            lost = (more - total) - corrected
            # Beyond an infinity there is nothing to carry along.
            if lost != lost:
                lost = IDENTITY
            total = more
        results[unit] = total
"""


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "reduce"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("axis dtype:* operator.associative operator.commutative operator:*")

    def units(self, problem: Reduce) -> int:
        return problem.rows

    def prepare(
        self, problem: Reduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        carried, made = problem.carried, problem.output_arrays[0].dtype
        text = _SUM if problem.operator == SUM and carried.startswith("float") else _TEXT
        run = combining("reduce_loops", text, problem.operator, (problem.dtype, made), carried)
        sizes = np.array((problem.columns, problem.inner), np.int64)

        def call(x: AnyArray, results: AnyArray) -> None:
            run((x, results), sizes, problem.rows, 1)

        return call

    def accesses(self, problem: Reduce) -> Counted:
        """Each result's elements one after another."""
        count = problem.rows * problem.columns
        return {"elements in order": through(count, problem.rows, count, problem.columns)}


STRATEGY = Loops()
