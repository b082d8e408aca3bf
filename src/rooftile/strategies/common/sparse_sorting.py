"""Bringing a sparse matrix's entries into another order on the cores of a CPU, by counting.

Each share of the entries counts how many it has of every key, and then knows where its own of each
key go. Equal keys stay in order, whatever the number of shares is.

Source: PMPP, section 13.5 (stable counting sorts); Gustavson, "Two Fast Algorithms for Sparse
Matrices", ACM TOMS 4 (1978).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops import AnyArray
from rooftile.ops.sparse.rows import Rows, Sorting
from rooftile.strategies.common.sparse_blocks import blocks_of
from rooftile.strategies.common.sparse_buckets import (
    grouped_by_buckets,
    scattered,
    scattered_rows,
)

_FEW = 2**15
"""Entries that one thread has sorted before the others are awake."""

_COUNT = """
def kernel(keys, counts, sizes, begin, end):
    count, shares = sizes[0], sizes[1]
    for share in range(begin, end):
        own = share * count
        for key in range(count):
            counts[own + key] = 0
        for e in range(keys.size * share // shares, keys.size * (share + 1) // shares):
            counts[own + keys[e]] += 1
"""
_PLACES = """
def kernel(offsets, counts, sizes, begin, end):
    count, shares = sizes[0], sizes[1]
    running = 0
    for key in range(count):
        offsets[key] = running
        for share in range(shares):
            own = counts[share * count + key]
            counts[share * count + key] = running
            running += own
    offsets[count] = running
"""
_SCATTER = """
def kernel(keys, values, others, counts, sorted_values, sorted_others, sizes, begin, end):
    count, shares = sizes[0], sizes[1]
    for share in range(begin, end):
        own = share * count
        for e in range(keys.size * share // shares, keys.size * (share + 1) // shares):
            to = counts[own + keys[e]]
            counts[own + keys[e]] = to + 1
            sorted_values[to] = values[e]
            sorted_others[to] = others[e]
"""
_TURN_COUNT = """
def kernel(columns, offsets, counts, sizes, begin, end):
    count, shares, rows = sizes[0], sizes[1], sizes[2]
    for share in range(begin, end):
        own = share * count
        for key in range(count):
            counts[own + key] = 0
        first, last = offsets[rows * share // shares], offsets[rows * (share + 1) // shares]
        for e in range(first, last):
            counts[own + columns[e]] += 1
"""
_TURN = """
def kernel(columns, offsets, values, counts, sorted_values, sorted_rows, sizes, begin, end):
    count, shares, rows = sizes[0], sizes[1], sizes[2]
    for share in range(begin, end):
        own = share * count
        for r in range(rows * share // shares, rows * (share + 1) // shares):
            for e in range(offsets[r], offsets[r + 1]):
                to = counts[own + columns[e]]
                counts[own + columns[e]] = to + 1
                sorted_values[to] = values[e]
                sorted_rows[to] = r
"""
_LOOK = """
def kernel(values, rows, columns, found, sizes, begin, end):
    count, shares = rows.size, sizes[0]
    for share in range(begin, end):
        zeros, falls, repeats = 0, 0, 0
        for e in range(count * share // shares, count * (share + 1) // shares):
            # The first entry is compared with itself, which does not count as a repetition.
            before = max(e - 1, 0)
            step = rows[e] - rows[before]
            across = columns[e] - columns[before]
            zeros += values[e] == 0
            falls += step < 0
            if step == 0:
                falls += across < 0
                repeats += across == 0
        found[3 * share] = zeros
        found[3 * share + 1] = falls
        found[3 * share + 2] = repeats
"""
_LOOK_IN_ROWS = """
def kernel(values, columns, offsets, found, sizes, begin, end):
    rows, shares, wide = sizes[0], sizes[1], sizes[2]
    for share in range(begin, end):
        zeros, falls, repeats, outside = 0, 0, 0, 0
        low, high = rows * share // shares, rows * (share + 1) // shares
        for e in range(offsets[low], offsets[high]):
            zeros += values[e] == 0
            outside += columns[e] < 0
            outside += columns[e] >= wide
        for r in range(low, high):
            for e in range(offsets[r] + 1, offsets[r + 1]):
                step = columns[e] - columns[e - 1]
                falls += step < 0
                repeats += step == 0
        found[4 * share] = zeros
        found[4 * share + 1] = falls
        found[4 * share + 2] = repeats
        found[4 * share + 3] = outside
"""
_STARTS = """
def kernel(rows, offsets, sizes, begin, end):
    count = sizes[0]
    row = 0
    for e in range(rows.size):
        while row <= rows[e]:
            offsets[row] = e
            row += 1
    while row <= count:
        offsets[row] = rows.size
        row += 1
"""
_PLACED = """
def kernel(columns, offsets, last_seen, found, used, sizes, begin, end):
    # Each column of squares keeps the last row of squares in which it had an entry.
    rows, block, shares, wide = sizes[0], sizes[1], sizes[2], sizes[3]
    high = (rows + block - 1) // block
    for share in range(begin, end):
        own, total = share * wide, 0
        low, beyond = high * share // shares * block, high * (share + 1) // shares * block
        for r in range(low, min(beyond, rows)):
            number = r // block + 1
            for e in range(offsets[r], offsets[r + 1]):
                square = own + columns[e] // block
                if last_seen[square] != number:
                    last_seen[square] = number
                    total += 1
                used[columns[e] - r + rows] = 1
        found[share] = total
"""


@last_kernels
def _spread(stem: str, text: str, *dtypes: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text), dtypes)


def grouped(
    keys: AnyArray, count: int, values: AnyArray, others: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """See `Sorting.grouped`; keys and others are of int32 or int64."""
    way = grouped_by_buckets if scattered(keys) else grouped_at_once
    return way(keys, count, values, others)


def grouped_at_once(
    keys: AnyArray, count: int, values: AnyArray, others: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The same in one pass over the entries."""
    index, shares = keys.dtype.name, _shares(len(keys))
    sizes, counts = cpu.sizes_of(count, shares), np.empty(shares * count, index)
    offsets = np.empty(count + 1, index)
    made = np.empty_like(values), np.empty_like(others)
    keys, values, others = map(np.ascontiguousarray, (keys, values, others))
    kinds = values.dtype.name, others.dtype.name
    _spread("sparse_count", _COUNT, index, index)((keys, counts), sizes, shares, shares)
    _spread("sparse_places", _PLACES, index, index)((offsets, counts), sizes, 1, 1)
    scatter = _spread("sparse_scatter", _SCATTER, index, *kinds, index, *kinds)
    scatter((keys, values, others, counts, *made), sizes, shares, shares)
    return offsets, *made


def turned(rows: Rows) -> Rows:
    """See `Sorting.turned`."""
    height, count = rows.shape
    if scattered_rows(rows.columns, rows.offsets):
        made = grouped_by_buckets(rows.columns, count, rows.values, rows.of_entries)
        return Rows((count, height), made[1], made[2], made[0])
    index, shares = rows.columns.dtype.name, _shares(rows.entries)
    sizes, counts = cpu.sizes_of(count, shares, height), np.empty(shares * count, index)
    offsets = np.empty(count + 1, index)
    values, columns = np.empty_like(rows.values), np.empty_like(rows.columns)
    given = tuple(map(np.ascontiguousarray, (rows.columns, rows.offsets, rows.values)))
    kind = values.dtype.name
    counting = _spread("sparse_turn_count", _TURN_COUNT, index, index, index)
    counting((*given[:2], counts), sizes, shares, shares)
    _spread("sparse_places", _PLACES, index, index)((offsets, counts), sizes, 1, 1)
    scatter = _spread("sparse_turn", _TURN, index, index, kind, index, kind, index)
    scatter((*given, counts, values, columns), sizes, shares, shares)
    return Rows((count, height), values, columns, offsets)


def looked(values: AnyArray, rows: AnyArray, columns: AnyArray) -> tuple[bool, bool, bool]:
    """See `Sorting.looked`."""
    shares, index = _shares(len(values)), rows.dtype.name
    found = np.zeros((shares, 3), np.int64)
    given = tuple(map(np.ascontiguousarray, (values, rows, columns)))
    # Of float16 the kernel takes the numbers, so that a negative zero is one too.
    run = _spread("sparse_look", _LOOK, values_of(values.dtype.name), index, index, "int64")
    if len(values):
        run((*given, found), cpu.sizes_of(shares), shares, shares)
        found[0, 2] -= 1
    zeros, falls, repeats = (bool(count > 0) for count in found.sum(axis=0))
    return zeros, falls, repeats


def looked_in_rows(rows: Rows) -> tuple[bool, bool, bool, bool]:
    """Four flags: a value is 0, a column is before the previous one of its row, equals it, or is
    outside the matrix."""
    shares, index = _shares(rows.entries), rows.columns.dtype.name
    found = np.zeros((shares, 4), np.int64)
    given = tuple(map(np.ascontiguousarray, (rows.values, rows.columns, rows.offsets)))
    kind = values_of(rows.values.dtype.name)
    run = _spread("sparse_look_in_rows", _LOOK_IN_ROWS, kind, index, index, "int64")
    run((*given, found), cpu.sizes_of(rows.shape[0], shares, rows.shape[1]), shares, shares)
    zeros, falls, repeats, outside = (bool(count) for count in found.sum(axis=0))
    return zeros, falls, repeats, outside


def starts(rows: AnyArray, count: int) -> AnyArray:
    """See `Sorting.starts`."""
    offsets, index = np.empty(count + 1, rows.dtype), rows.dtype.name
    run = _spread("sparse_starts", _STARTS, index, index)
    run((np.ascontiguousarray(rows), offsets), cpu.sizes_of(count), 1, 1)
    return offsets


def placed(rows: Rows, block: int) -> tuple[int, AnyArray]:
    """The number of ``block`` x ``block`` squares that have an entry; and of each diagonal 1 if it
    has one, else 0, the main one's at the index ``rows``."""
    index, shares = rows.columns.dtype.name, _shares(rows.entries)
    height, width = rows.shape
    wide = -(-width // block)
    seen, found = np.zeros(shares * wide, index), np.zeros(shares, np.int64)
    used = np.zeros(height + width, np.uint8)
    given = tuple(map(np.ascontiguousarray, (rows.columns, rows.offsets)))
    run = _spread("sparse_placed", _PLACED, index, index, index, "int64", "uint8")
    sizes = cpu.sizes_of(height, block, shares, wide)
    # Several cores may mark one diagonal: all of them write the same.
    run((*given, seen, found, used), sizes, shares, shares)
    return int(found.sum()), used


def _shares(entries: int) -> int:
    return 1 if entries < _FEW else cpu.cores()


SORTING = Sorting(grouped, turned, looked, starts, blocks_of)
