"""Dense blocks of a sparse matrix, on the cores of a CPU: what BSR holds.

The rows of one row of blocks are merged: each has a place among its entries, and the least column
of all places says which block comes next.  So every entry is looked at once in each of two passes,
which count blocks and fill them, and nothing is sorted.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.ops import AnyArray
from rooftile.ops.sparse_rows import Rows, offsets_of

_COUNT = """
def kernel(columns, offsets, places, counts, sizes, begin, end):
    rows, block, high, shares, beyond = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    for share in range(begin, end):
        own = share * block
        for down in range(high * share // shares, high * (share + 1) // shares):
            first = down * block
            several = min(block, rows - first)
            for i in range(several):
                places[own + i] = offsets[first + i]
            total = 0
            least = 0
            while least < beyond:
                least = beyond
                for i in range(several):
                    if places[own + i] < offsets[first + i + 1]:
                        least = min(least, columns[places[own + i]])
                if least < beyond:
                    limit = (least // block + 1) * block
                    for i in range(several):
                        e = places[own + i]
                        while e < offsets[first + i + 1] and columns[e] < limit:
                            e += 1
                        places[own + i] = e
                    total += 1
            counts[down] = total
"""
_FILL = """
def kernel(columns, offsets, values, places, starts, blocks, block_columns, sizes, begin, end):
    rows, block, high, shares, beyond = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    for share in range(begin, end):
        own = share * block
        for down in range(high * share // shares, high * (share + 1) // shares):
            first = down * block
            several = min(block, rows - first)
            for i in range(several):
                places[own + i] = offsets[first + i]
            for number in range(starts[down], starts[down + 1]):
                least = beyond
                for i in range(several):
                    if places[own + i] < offsets[first + i + 1]:
                        least = min(least, columns[places[own + i]])
                across = least // block
                block_columns[number] = across
                limit = (across + 1) * block
                for i in range(several):
                    e = places[own + i]
                    to = (number * block + i) * block - across * block
                    while e < offsets[first + i + 1] and columns[e] < limit:
                        blocks[to + columns[e]] = values[e]
                        e += 1
                    places[own + i] = e
"""
_EACH = 16
"""Shares of a core: rows of blocks have very different numbers of entries."""


@cache
def _spread(stem: str, text: str, *dtypes: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text), dtypes)


def blocks_of(rows: Rows, block: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """See `Sorting.blocks`."""
    index = rows.columns.dtype.name
    high, beyond = -(-rows.shape[0] // block), rows.shape[1]
    shares = max(1, min(high, _EACH * cpu.cores()))
    sizes = cpu.sizes_of(rows.shape[0], block, high, shares, beyond)
    given = tuple(map(np.ascontiguousarray, (rows.columns, rows.offsets)))
    places, counts = np.empty(shares * block, index), np.empty(high, index)
    counting = _spread("sparse_block_count", _COUNT, index, index, index, index)
    counting((*given, places, counts), sizes, shares, cpu.cores())
    starts = offsets_of(counts, rows.columns.dtype)
    count = max(1, int(starts[-1]))
    values = np.zeros((count, block, block), rows.values.dtype)
    columns, kind = np.zeros(count, index), values.dtype.name
    filling = _spread("sparse_block_fill", _FILL, index, index, kind, index, index, kind, index)
    entries = np.ascontiguousarray(rows.values)
    filling(
        (*given, entries, places, starts, values.reshape(-1), columns), sizes, shares, cpu.cores()
    )
    return values, columns, starts
