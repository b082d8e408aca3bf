"""`parts`: parts of equally many elements, however long segments are.

All cores combine the elements after the last beginning in each part, where there is one; then they
scan the parts. A part looks for its first segment by halves.

Source: Schwartz, "Ultracomputers", ACM TOPLAS 2 (1980).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.scan_kernels import scanning

_PARTS = 64
_LEAST = 4096
"""Elements of a part."""

_SEARCH = """
def first_from(offsets, place, segments):
    low = 0
    high = segments
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low
"""
_SUMS = (
    _SEARCH
    + """
def kernel(x, offsets, sums, cuts, sizes, begin, end):
    count, segments, parts = sizes[0], sizes[1], sizes[2]
    for part in range(begin, end):
        first, last = count * part // parts, count * (part + 1) // parts
        following = first_from(offsets, last, segments)
        begins = first
        cuts[part] = 0
        if following > 0 and offsets[following - 1] >= first:
            begins = offsets[following - 1]
            cuts[part] = 1
        high = IDENTITY
        low = ZERO
        for at in range(begins, last):
            value = CARRIED(x[at])
            low += lost_in(high, value)
            high = combined(high, value)
        sums[2 * part] = high
        sums[2 * part + 1] = low
"""
)
_SCANS = (
    _SEARCH
    + """
def kernel(x, offsets, sums, cuts, y, sizes, begin, end):
    count, segments, parts = sizes[0], sizes[1], sizes[2]
    for part in range(begin, end):
        first, last = count * part // parts, count * (part + 1) // parts
        segment = first_from(offsets, first, segments)
        high = IDENTITY
        low = ZERO
        for earlier in range(part):
            if cuts[earlier]:
                high = IDENTITY
                low = ZERO
            value = CARRIED(sums[2 * earlier])
            low += lost_in(high, value) + CARRIED(sums[2 * earlier + 1])
            high = combined(high, value)
        at = first
        while at < last:
            while segment < segments and offsets[segment] <= at:
                if offsets[segment] == at:
                    high = IDENTITY
                    low = ZERO
                segment += 1
            stop = last
            if segment < segments:
                stop = min(last, offsets[segment])
            for e in range(at, stop):
                before = value_of(high, low)
                value = CARRIED(x[e])
                low += lost_in(high, value)
                high = combined(high, value)
                y[e] = before if EXCLUSIVE else value_of(high, low)
            at = stop
"""
)


class Parts(HostStrategy):
    """Takes every associative operator."""

    operation = "segmented_scan"
    name = "parts"
    summary = "parts of equally many elements, combined and then scanned by all cores"
    takes = features("dtype:* exclusive index:int32 operator.commutative operator:*")

    def units(self, problem: SegmentedScan) -> int:
        return max(1, min(_PARTS, problem.count // _LEAST))

    def prepare(
        self, problem: SegmentedScan, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        x, offsets, y = (array.dtype for array in problem.arrays)
        way = problem.operator, problem.carried, problem.exclusive
        dtypes = x, offsets, problem.carried, "uint8"
        combine = scanning("segmented_sums", _SUMS, *way, dtypes)
        scan = scanning("segmented_parts", _SCANS, *way, (*dtypes, y))
        units = self.units(problem)
        sizes = np.array((problem.count, problem.segments, units), np.int64)
        sums = cpu.aligned((2 * units,), numpy_dtype(problem.carried), "sums of parts")
        cuts = cpu.aligned((units,), np.dtype(np.uint8), "beginnings of parts")
        turn = lock()

        def call(x: AnyArray, offsets: AnyArray, y: AnyArray) -> None:
            with turn:
                combine((x, offsets, sums, cuts), sizes, units, threads)
                scan((x, offsets, sums, cuts, y), sizes, units, threads)

        return call

    def accesses(self, problem: SegmentedScan) -> Counted:
        """Every element twice: for the sums of parts, then for the results."""
        count, parts = problem.count, self.units(problem)
        share, before = -(-count // parts), parts * (parts - 1) // 2
        return {
            "sums of parts": through(count, 3 * parts, count, share),
            "scans of parts": through(count + before, count, count + before, parts - 1 + share),
        }


STRATEGY = Parts()
