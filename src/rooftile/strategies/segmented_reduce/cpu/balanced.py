"""`balanced`: the cores share out elements and ends of segments, and not segments.

Elements and ends are one sequence of items, in which an end follows the elements before it. A unit
takes as many items as another: it combines elements, and at each end it has a result. Only its
first result lacks the part of earlier units in that segment; a last pass adds it. Long pieces are
combined by vectors of accumulators.

Source: Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through, tree_depth
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.common.combining import combining
from rooftile.strategies.common.shares import ENDS_AMONG
from rooftile.strategies.segmented_reduce.cpu._base import CpuSegmented, length_of

_ITEMS = 2**16
"""Items of a unit.  They follow from the problem and not from the threads, so that results do not
depend on the machine."""
_WORDS = {"LANES": 64, "BLOCK": 4096, "SHORT": 32}

_TEXT = """
def piece(x, own, first, last):
    # A block's elements go to as many accumulators as it has lanes, and blocks one after the other.
    total = IDENTITY
    if last - first < SHORT:
        for j in range(first, last):
            total = combined(total, x[j])
        return total
    for at in range(first, last, BLOCK):
        stop = min(at + BLOCK, last)
        whole = at + (stop - at) // LANES * LANES
        for k in range(LANES):
            own[k] = IDENTITY
        for j in range(at, whole, LANES):
            for k in range(LANES):
                own[k] = combined(own[k], x[j + k])
        for k in range(stop - whole):
            own[k] = combined(own[k], x[whole + k])
        half = LANES // 2
        while half > 0:
            for k in range(half):
                own[k] = combined(own[k], own[half + k])
            half = half // 2
        total = combined(total, own[0])
    return total


def kernel(x, offsets, results, heads, tails, sizes, begin, end):
    count, segments, share = sizes[0], sizes[1], sizes[2]
    own = np.empty(LANES, CARRIED)
    for unit in range(begin, end):
        stop = min(unit * share + share, count + segments)
        first = ends_among(offsets, segments, count, unit * share)
        last = ends_among(offsets, segments, count, stop)
        e = unit * share - first
        for s in range(first, last):
            total = piece(x, own, e, offsets[s + 1])
            e = offsets[s + 1]
            if s == first:
                heads[unit] = total
            else:
                results[s] = total
        tails[unit] = piece(x, own, e, stop - last)
"""
_JOIN = """
def kernel(offsets, results, heads, tails, sizes, begin, end):
    count, segments, share, units = sizes[0], sizes[1], sizes[2], sizes[3]
    carry = IDENTITY
    first = 0
    for unit in range(units):
        stop = min(unit * share + share, count + segments)
        last = ends_among(offsets, segments, count, stop)
        if last > first:
            results[first] = combined(carry, heads[unit])
            carry = IDENTITY
        carry = combined(carry, tails[unit])
        first = last
"""


class Balanced(CpuSegmented):
    """Takes every problem whose elements may be combined in any order."""

    name = "balanced"
    summary = "elements and ends of segments over the cores, vectors in long segments"
    takes = features("dtype:* offsets:int32 operator:*")

    def units(self, problem: SegmentedReduce) -> int:
        return -(-(problem.count + problem.segments) // _ITEMS)

    def prepare(
        self, problem: SegmentedReduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        operator, carried, units = problem.operator, problem.carried, self.units(problem)
        text, made = _TEXT, problem.output_arrays[0].dtype
        for word, value in _WORDS.items():
            text = text.replace(word, str(value))
        dtypes = problem.offsets, made, carried, carried
        given = (problem.dtype, *dtypes)
        run = combining("segmented_shares", ENDS_AMONG + text, operator, given, carried)
        join = combining("segmented_join", ENDS_AMONG + _JOIN, operator, dtypes, carried)
        sizes = np.array((problem.count, problem.segments, _ITEMS, units), np.int64)
        heads, tails = cpu.aligned((2, units), numpy_dtype(carried), "results of shares")
        turn = lock()

        def call(x: AnyArray, offsets: AnyArray, results: AnyArray) -> None:
            with turn:
                run((x, offsets, results, heads, tails), sizes, units, threads)
                join((offsets, results, heads, tails), sizes, 1, 1)

        return call

    def accesses(self, problem: SegmentedReduce) -> Counted:
        """Shares of elements and ends; long segments by vectors; then what shares lack of each
        other."""
        count, units, length = problem.count, self.units(problem), length_of(problem)
        short = length <= _WORDS["SHORT"]
        steps = length if short else length // _WORDS["LANES"] + tree_depth(_WORDS["LANES"])
        shares = through(count + problem.segments, problem.segments, count, max(1, steps))
        return {"shares": shares, "results across shares": through(2 * units, units, units, units)}


STRATEGY = Balanced()
