"""Sorting a sparse matrix's entries by keys that lie anywhere, on the cores of a CPU.

Counting sorts (`rooftile.strategies.common.sparse_sorting`) write each entry where it belongs: of
columns that lie anywhere nearly every write misses the caches. Here entries go to buckets of
neighbouring keys first, a bucket's side by side, and then each bucket, which a cache holds, is
sorted by itself. That is twice the bytes, and several times as fast where writes would miss; along
diagonals, where they do not, it is twice as slow.

Source: PMPP, section 13.6 (more bits a pass); Manegold, Boncz, Kersten, "Optimizing Main-Memory
Join on Modern Hardware", TKDE 14 (2002), radix clustering.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source
from rooftile.ops import AnyArray

_BUCKETS = 256
"""More of them would be more pages than a core keeps the addresses of: each has three."""
MANY = 2**20
"""Fewer entries than these lie in caches wherever they go."""
_FAR = 2**12
"""Columns between which nothing is shared, neither a line nor a page."""
_SAMPLE = 1024

_COUNT = """
def kernel(keys, counts, sizes, begin, end):
    buckets, shares, shift = sizes[0], sizes[1], sizes[2]
    for share in range(begin, end):
        own = share * buckets
        for bucket in range(buckets):
            counts[own + bucket] = 0
        for e in range(keys.size * share // shares, keys.size * (share + 1) // shares):
            counts[own + (keys[e] >> shift)] += 1
"""
_SPLIT = """
def kernel(keys, values, others, places, split_keys, split_values, split_others, sizes, begin, end):
    buckets, shares, shift = sizes[0], sizes[1], sizes[2]
    for share in range(begin, end):
        own = share * buckets
        for e in range(keys.size * share // shares, keys.size * (share + 1) // shares):
            bucket = own + (keys[e] >> shift)
            to = places[bucket]
            places[bucket] = to + 1
            split_keys[to] = keys[e]
            split_values[to] = values[e]
            split_others[to] = others[e]
"""
_SORT = """
def kernel(keys, values, others, starts, offsets, sorted_values, sorted_others, sizes, begin, end):
    shift, count = sizes[0], sizes[1]
    for bucket in range(begin, end):
        low, high = bucket << shift, min((bucket + 1) << shift, count)
        for key in range(low, high):
            offsets[key] = 0
        for e in range(starts[bucket], starts[bucket + 1]):
            offsets[keys[e]] += 1
        running = starts[bucket]
        for key in range(low, high):
            own = offsets[key]
            offsets[key] = running
            running += own
        for e in range(starts[bucket], starts[bucket + 1]):
            to = offsets[keys[e]]
            offsets[keys[e]] = to + 1
            sorted_values[to] = values[e]
            sorted_others[to] = others[e]
        # Each key's place has moved on to where the next one's begin.
        for key in range(high - 1, low, -1):
            offsets[key] = offsets[key - 1]
        offsets[low] = starts[bucket]
"""


@last_kernels
def _spread(stem: str, text: str, *dtypes: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text), dtypes)


def scattered(keys: AnyArray) -> bool:
    """True if keys are far from the keys before them; of a sample."""
    if len(keys) < MANY:
        return False
    here = np.linspace(0, len(keys) - 2, _SAMPLE).astype(np.int64)
    return _far(keys, here, here + 1)


def scattered_rows(columns: AnyArray, offsets: AnyArray) -> bool:
    """True if rows name columns far from the columns of the rows before them, so that a sort by
    columns writes anywhere; of a sample."""
    if len(columns) < MANY or len(offsets) < 3:
        return False
    rows = np.linspace(0, len(offsets) - 3, _SAMPLE).astype(np.int64)
    middles = [(offsets[rows + k].astype(np.int64) + offsets[rows + k + 1]) // 2 for k in (0, 1)]
    return _far(columns, *middles)


def scattered_entries(rows: AnyArray, columns: AnyArray) -> bool:
    """The same of entries in the order of rows."""
    if len(columns) < MANY:
        return False
    here = np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.int64)
    rank = here - np.searchsorted(rows, rows[here])
    return _far(columns, here, np.searchsorted(rows, rows[here], "right") + rank)


def _far(columns: AnyArray, here: AnyArray, there: AnyArray) -> bool:
    last = len(columns) - 1
    apart = columns[np.minimum(there, last)].astype(np.int64) - columns[np.minimum(here, last)]
    # Of blocks of four rows it is a quarter, and buckets are as fast, and steadier.
    return 5 * int((np.abs(apart) > _FAR).sum()) > len(here)


def grouped_by_buckets(
    keys: AnyArray, count: int, values: AnyArray, others: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """See `rooftile.ops.sparse.rows.Sorting.grouped`; keys and others are of int32 or int64."""
    index, kinds, shares = keys.dtype.name, (values.dtype.name, others.dtype.name), cpu.cores()
    shift = max(0, (count - 1).bit_length() - (_BUCKETS - 1).bit_length())
    buckets = -(-count // 2**shift)
    sizes, counts = cpu.sizes_of(buckets, shares, shift), np.empty((shares, buckets), index)
    given = tuple(map(np.ascontiguousarray, (keys, values, others)))
    counting = _spread("sparse_bucket_count", _COUNT, index, index)
    counting((given[0], counts.reshape(-1)), sizes, shares, shares)
    # A bucket has its first share's entries first, so that equal keys stay in order.
    ends = np.cumsum(counts.T.reshape(-1), dtype=keys.dtype).reshape(buckets, shares)
    starts = np.concatenate([np.zeros(1, keys.dtype), ends[:, -1]])
    places = np.ascontiguousarray((ends - counts.T).T).reshape(-1)
    split = tuple(map(np.empty_like, given))
    splitting = _spread("sparse_bucket_split", _SPLIT, index, *kinds, index, index, *kinds)
    splitting((*given, places, *split), sizes, shares, shares)
    offsets = np.empty(count + 1, index)
    offsets[count] = len(keys)
    made = np.empty_like(given[1]), np.empty_like(given[2])
    sorting = _spread("sparse_bucket_sort", _SORT, index, *kinds, index, index, *kinds)
    sorting((*split, starts, offsets, *made), cpu.sizes_of(shift, count), buckets, shares)
    return offsets, *made
