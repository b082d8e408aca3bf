"""Dense blocks of a sparse matrix, on the cores of a CPU: what BSR holds.

The rows of one row of blocks are merged: each has a place among its entries, and the least column
of all places says which block comes next.  So every entry is looked at once in each of two passes,
which count blocks and fill them, and nothing is sorted.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source
from rooftile.ops import AnyArray
from rooftile.ops.sparse.rows import Rows, offsets_of

_MERGE = """
def kernel(columns, offsets, places, {arrays}, sizes, begin, end):
    rows, block, high, shares, beyond = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    for share in range(begin, end):
        own = share * block
        for down in range(high * share // shares, high * (share + 1) // shares):
            first = down * block
            several = min(block, rows - first)
            for i in range(several):
                places[own + i] = offsets[first + i]
            number = {start}
            least = 0
            while least < beyond:
                least = beyond
                for i in range(several):
                    if places[own + i] < offsets[first + i + 1]:
                        least = min(least, columns[places[own + i]])
                if least < beyond:
                    across = least // block
                    limit = (across + 1) * block
                    for i in range(several):
                        e = places[own + i]
                        to = (number * block + i) * block - across * block
                        while e < offsets[first + i + 1] and columns[e] < limit:
                            {entry}
                            e += 1
                        places[own + i] = e
                    {block}
                    number += 1
            {row}
"""
_COUNT = _MERGE.format(arrays="counts", start="0", entry="", block="", row="counts[down] = number")
_FILL = _MERGE.format(
    arrays="values, starts, blocks, block_columns",
    start="starts[down]",
    entry="blocks[to + columns[e]] = values[e]",
    block="block_columns[number] = across",
    row="",
)
"""One kernel would ask at each entry which pass it is, and take three times as long."""
_EACH = 16
"""Shares of a core: rows of blocks have very different numbers of entries."""


@last_kernels
def _spread(stem: str, text: str, *dtypes: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text), dtypes)


def blocks_of(rows: Rows, block: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """See `Sorting.blocks`."""
    kind, index = rows.values.dtype.name, rows.columns.dtype.name
    high, beyond = -(-rows.shape[0] // block), rows.shape[1]
    shares = max(1, min(high, _EACH * cpu.cores()))
    sizes = cpu.sizes_of(rows.shape[0], block, high, shares, beyond)
    columns, offsets, entries = map(np.ascontiguousarray, (rows.columns, rows.offsets, rows.values))
    given = columns, offsets, np.empty(shares * block, index)
    counts = np.empty(high, index)
    counting = _spread("sparse_block_count", _COUNT, index, index, index, index)
    counting((*given, counts), sizes, shares, cpu.cores())
    starts = offsets_of(counts, rows.columns.dtype)
    count = max(1, int(starts[-1]))
    values, across = np.zeros((count, block, block), kind), np.zeros(count, index)
    filling = _spread("sparse_block_fill", _FILL, *[index] * 3, kind, index, kind, index)
    filling((*given, entries, starts, values.reshape(-1), across), sizes, shares, cpu.cores())
    return values, across, starts
