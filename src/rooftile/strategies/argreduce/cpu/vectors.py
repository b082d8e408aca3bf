"""`vectors`: segments over the cores; the place is looked for in the best block alone.

Of a block of neighbours a unit makes the extreme with vectors of accumulators, as `reduce` does,
and notes the block where that is better than all before.  At the end it searches that one block,
which is still in the cache or comes once more.  Where the axis is not the last, neighbouring
columns are compared at once, each with the row of its best.
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
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import HostStrategy
from rooftile.strategies.argreduce.cpu.loops import searching

_SEGMENT = 2**18
"""Elements of a segment."""
_LANES = 64
_BLOCK = 4096
"""Elements of a block, of `_LANES` accumulators."""
_CHUNK = 512
"""Columns that are compared at once."""

_ROWS = """
def kernel(x, values, places, sizes, begin, end):
    columns, segments = sizes[0], sizes[1]
    own = np.empty(LANES, CARRIED)
    for unit in range(begin, end):
        row, segment = unit // segments, unit % segments
        start = row * columns
        first = start + columns * segment // segments
        last = start + columns * (segment + 1) // segments
        best = IDENTITY
        chosen = first
        for at in range(first, last, BLOCK):
            stop = min(at + BLOCK, last)
            whole = at + (stop - at) // LANES * LANES
            for k in range(LANES):
                own[k] = IDENTITY
            for j in range(at, whole, LANES):
                for k in range(LANES):
                    own[k] = extreme(own[k], x[j + k])
            for k in range(stop - whole):
                own[k] = extreme(own[k], x[whole + k])
            found = own[0]
            for k in range(1, LANES):
                found = extreme(found, own[k])
            if better(found, best):
                best = found
                chosen = at
        place = chosen
        while x[place] != best and (best == best or x[place] == x[place]):
            place += 1
        values[unit] = best
        places[unit] = place - start
"""
_COLUMNS = """
def kernel(x, values, places, sizes, begin, end):
    columns, segments, inner, chunks = sizes[0], sizes[1], sizes[2], sizes[3]
    best = np.empty(CHUNK, CARRIED)
    chosen = np.empty(CHUNK, np.int32)
    for unit in range(begin, end):
        segment, chunk = unit % segments, unit // segments % chunks
        slab, lane = unit // segments // chunks, chunk * CHUNK
        width = min(CHUNK, inner - lane)
        first = columns * segment // segments
        last = columns * (segment + 1) // segments
        at = (slab * columns + first) * inner + lane
        for k in range(width):
            best[k] = x[at + k]
            chosen[k] = 0
        for row in range(1, last - first):
            at = (slab * columns + first + row) * inner + lane
            for k in range(width):
                value, before = x[at + k], best[k]
                found = np.logical_or(
                    value SIGN before,
                    np.logical_and(np.not_equal(value, value), np.equal(before, before)),
                )
                best[k] = np.where(found, value, before)
                chosen[k] = np.where(found, row, chosen[k])
        to = (slab * segments + segment) * inner + lane
        for k in range(width):
            values[to + k] = best[k]
            places[to + k] = first + chosen[k]
"""
_FINISH = """
def kernel(values, segment_places, places, sizes, begin, end):
    segments, inner = sizes[0], sizes[1]
    for unit in range(begin, end):
        at = unit // inner * segments * inner + unit % inner
        best, place = values[at], segment_places[at]
        for j in range(1, segments):
            if better(values[at + j * inner], best):
                best = values[at + j * inner]
                place = segment_places[at + j * inner]
        places[unit] = place
"""


class Vectors(HostStrategy):
    """Takes every problem."""

    operation = "argreduce"
    name = "vectors"
    summary = "vectors of accumulators over the cores, the place from the best block"
    takes = features("axis dtype:* operator:min")

    def units(self, problem: Argreduce) -> int:
        slabs, chunks = problem.rows // problem.inner, -(-problem.inner // _CHUNK)
        return slabs * chunks * _segments(problem)

    def prepare(
        self, problem: Argreduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        segments, inner, carried = _segments(problem), problem.inner, problem.carried
        sign = ">" if problem.operator == "max" else "<"
        words = {"LANES": _LANES, "BLOCK": _BLOCK, "CHUNK": _CHUNK, "SIGN": sign}
        dtypes = (problem.dtype, carried, "int64")
        text = _ROWS if inner == 1 else _COLUMNS
        search = searching("argreduce_vectors", text, problem, dtypes, **words)
        finish = searching("argreduce_finish", _FINISH, problem, (carried, "int64", "int64"))
        sizes = np.array((problem.columns, segments, inner, -(-inner // _CHUNK)), np.int64)
        counts = np.array((segments, inner), np.int64)
        shape = (problem.rows // inner, segments, inner)
        values = cpu.aligned(shape, numpy_dtype(carried), "values of segments")
        found = cpu.aligned(shape, np.dtype(np.int64), "places of segments")
        turn = lock()

        def call(x: AnyArray, places: AnyArray) -> None:
            with turn:
                kept = places if segments == 1 else found
                search((x, values, kept), sizes, self.units(problem), threads)
                if segments > 1:
                    finish((values, found, places), counts, problem.rows, threads)

        return call

    def accesses(self, problem: Argreduce) -> Counted:
        """Extremes of blocks by vectors; then the best block again, for the index in it. Adjacent
        lines keep indices with the extremes."""
        segments, count = _segments(problem), problem.rows * problem.columns
        found, share = problem.rows * segments, -(-problem.columns // segments)
        chain = share // _LANES if problem.inner == 1 else share
        made = {"extremes of segments": through(count, 2 * found, count, max(1, chain))}
        if problem.inner == 1:
            block = min(_BLOCK, share)
            made["places in the best blocks"] = through(block * found, 0, block * found, block)
        if segments > 1:
            made["best of the segments"] = through(2 * found, problem.rows, found, segments)
        return made


def _segments(problem: Argreduce) -> int:
    """Their number follows from the problem and not from the threads, as in `reduce`."""
    rows = max(1, _SEGMENT // min(problem.inner, _CHUNK))
    return -(-problem.columns // rows)


STRATEGY = Vectors()
