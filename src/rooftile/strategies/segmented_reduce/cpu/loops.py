"""`loops`: one segment after the other, on one thread. Source: Kahan, "Further remarks on reducing
truncation errors", CACM 8 (1965)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.combining import combining
from rooftile.strategies.segmented_reduce.cpu._base import CpuSegmented, length_of

_TEXT = """
def kernel(x, offsets, results, sizes, begin, end):
    for s in range(begin, end):
        total = IDENTITY
        for j in range(offsets[s], offsets[s + 1]):
            total = combined(total, x[j])
        results[s] = total
"""
_SUM = """
def kernel(x, offsets, results, sizes, begin, end):
    for s in range(begin, end):
        total = IDENTITY
        lost = IDENTITY
        for j in range(offsets[s], offsets[s + 1]):
            corrected = x[j] - lost
            more = total + corrected
            lost = (more - total) - corrected
            # Beyond an infinity there is nothing to carry along.
            if lost != lost:
                lost = IDENTITY
            total = more
        results[s] = total
"""


class Loops(CpuSegmented):
    """Takes every problem: it keeps the order."""

    name = "loops"
    parallel = False
    summary = "one segment after the other, on one thread"

    def prepare(
        self, problem: SegmentedReduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        real = problem.carried.startswith("float")
        text = _SUM if problem.operator == SUM and real else _TEXT
        dtypes = (problem.dtype, problem.offsets, problem.output_arrays[0].dtype)
        run = combining("segmented_loops", text, problem.operator, dtypes, problem.carried)
        nothing = np.zeros(1, np.int64)

        def call(x: AnyArray, offsets: AnyArray, results: AnyArray) -> None:
            run((x, offsets, results), nothing, problem.segments, 1)

        return call

    def accesses(self, problem: SegmentedReduce) -> Counted:
        """Segments of one length, each in order."""
        count = problem.count
        return {"elements in order": through(count, problem.segments, count, length_of(problem))}


STRATEGY = Loops()
