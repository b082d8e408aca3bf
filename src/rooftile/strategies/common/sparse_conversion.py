"""A sparse matrix from one format to another on the cores of a CPU, where kernels are faster.

Of a format with padding two passes over the stored numbers count each row's entries and bring them
together; zeros are padding. DIA and ELL are stored column by column: some rows are taken at a time,
so that reads are contiguous, and writes stay in a cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops import AnyArray
from rooftile.ops.sparse import reading
from rooftile.ops.sparse.layouts import laid_out
from rooftile.ops.sparse.rows import ARRAYS, Arrays, Form, Rows, of_triplets, offsets_of
from rooftile.strategies.common.sparse_buckets import grouped_by_buckets, scattered_entries
from rooftile.strategies.common.sparse_sorting import (
    SORTING,
    grouped_at_once,
    looked,
    looked_in_rows,
)

_TILE = 256
"""Rows at a time."""
_COUNT_PADDED = """
def kernel(values, lengths, sizes, begin, end):
    rows, width = sizes[0], sizes[1]
    for tile in range(begin, end):
        first, last = tile * TILE, min(tile * TILE + TILE, rows)
        for r in range(first, last):
            lengths[r] = 0
        for k in range(width):
            for r in range(first, last):
                lengths[r] += values[k * rows + r] != 0
"""
_READ_PADDED = """
def kernel(values, index, offsets, places, made, columns, sizes, begin, end):
    rows, width = sizes[0], sizes[1]
    for tile in range(begin, end):
        first, last = tile * TILE, min(tile * TILE + TILE, rows)
        # Of rows without padding nothing is asked.
        if offsets[last] - offsets[first] == (last - first) * width:
            for r in range(first, last):
                to = offsets[r]
                for k in range(width):
                    made[to + k] = values[k * rows + r]
                    columns[to + k] = COLUMN
        else:
            for r in range(first, last):
                places[r] = offsets[r]
            for k in range(width):
                for r in range(first, last):
                    value = values[k * rows + r]
                    if value != 0:
                        made[places[r]] = value
                        columns[places[r]] = COLUMN
                        places[r] += 1
"""
_COLUMNS = {"ell": "index[k * rows + r]", "dia": "r + index[k]"}
_COUNT_BLOCKS = """
def kernel(values, starts, lengths, sizes, begin, end):
    rows = sizes[0]
    for down in range(begin, end):
        for r in range(down * BLOCK, min(down * BLOCK + BLOCK, rows)):
            count = 0
            for number in range(starts[down], starts[down + 1]):
                line = (number * BLOCK + r - down * BLOCK) * BLOCK
                for j in range(BLOCK):
                    count += values[line + j] != 0
            lengths[r] = count
"""
_READ_BLOCKS = """
def kernel(values, across, starts, offsets, made, columns, sizes, begin, end):
    rows = sizes[0]
    for down in range(begin, end):
        several = starts[down + 1] - starts[down]
        for r in range(down * BLOCK, min(down * BLOCK + BLOCK, rows)):
            to = offsets[r]
            full = offsets[r + 1] - to == several * BLOCK
            for number in range(starts[down], starts[down + 1]):
                line = (number * BLOCK + r - down * BLOCK) * BLOCK
                first = across[number] * BLOCK
                # Of a row without padding nothing is asked.
                if full:
                    for j in range(BLOCK):
                        made[to + j] = values[line + j]
                        columns[to + j] = first + j
                    to += BLOCK
                else:
                    for j in range(BLOCK):
                        value = values[line + j]
                        if value != 0:
                            made[to] = value
                            columns[to] = first + j
                            to += 1
"""


def rows_of(form: Form, shape: tuple[int, int], arrays: Mapping[str, AnyArray]) -> Rows:
    """See `rooftile.ops.sparse.reading.rows_of`; of any format."""
    if form not in ("ell", "dia", "bsr"):
        return reading.rows_of(form, shape, arrays, SORTING)
    given = [np.ascontiguousarray(arrays[name]) for name in ARRAYS[form]]
    rows = _of_blocks(shape, *given) if form == "bsr" else _of_padded(form, shape, *given)
    if _rising(form, rows, given):
        return rows
    # Somebody else has laid it out.
    return of_triplets(shape, rows.values, rows.of_entries, rows.columns, SORTING)


def _rising(form: Form, rows: Rows, given: Sequence[AnyArray]) -> bool:
    """True if columns rise in every row: they do where the columns of blocks, or diagonals, do."""
    if form == "dia":
        return bool((given[1][1:] > given[1][:-1]).all())
    if form == "bsr":
        _, across, starts = given
        high, wide = (-(-size // given[0].shape[1]) for size in rows.shape)
        rows = Rows((high, wide), across, across, starts)
    _, falls, repeats, _ = looked_in_rows(rows)
    return not (falls or repeats)


def columns_of(shape: tuple[int, int], coo: Mapping[str, AnyArray]) -> Arrays:
    """The arrays of CSC from the arrays of COO.

    Where entries are in the order of rows, one stable sort brings them into the order of columns.
    """
    values, rows, columns = (np.ascontiguousarray(coo[name]) for name in ARRAYS["coo"])
    if any(looked(values, rows, columns)):
        return laid_out(of_triplets(shape, values, rows, columns, SORTING), "csc", sorting=SORTING)
    sort = grouped_by_buckets if scattered_entries(rows, columns) else grouped_at_once
    offsets, sorted_values, sorted_rows = sort(columns, shape[1], values, rows)
    return dict(zip(ARRAYS["csc"], (sorted_values, sorted_rows, offsets), strict=True))


def _of_padded(form: Form, shape: tuple[int, int], values: AnyArray, index: AnyArray) -> Rows:
    width, height = values.shape
    tiles, sizes = -(-height // _TILE), cpu.sizes_of(height, width)
    kind, whole = values_of(values.dtype.name), index.dtype.name
    lengths = np.empty(height, index.dtype)
    counting = _spread("sparse_padded_count", _COUNT_PADDED, kind, whole)
    counting((values, lengths), sizes, tiles, cpu.cores())
    rows = _empty(shape, lengths, values.dtype)
    text = _READ_PADDED.replace("COLUMN", _COLUMNS[form])
    reader = _spread("sparse_padded_read", text, kind, *[whole] * 3, kind, whole)
    # The lengths are no longer needed: their room holds where each row's next entry goes.
    made = rows.offsets, lengths, rows.values, rows.columns
    reader((values, index, *made), sizes, tiles, cpu.cores())
    return rows


def _of_blocks(
    shape: tuple[int, int], values: AnyArray, across: AnyArray, starts: AnyArray
) -> Rows:
    high, sizes = len(starts) - 1, cpu.sizes_of(shape[0])
    count, read = (
        text.replace("BLOCK", str(values.shape[1])) for text in (_COUNT_BLOCKS, _READ_BLOCKS)
    )
    kind, whole = values_of(values.dtype.name), across.dtype.name
    lengths = np.empty(shape[0], across.dtype)
    counting = _spread("sparse_blocks_count", count, kind, whole, whole)
    counting((values, starts, lengths), sizes, high, cpu.cores())
    rows = _empty(shape, lengths, values.dtype)
    reader = _spread("sparse_blocks_read", read, kind, *[whole] * 3, kind, whole)
    made = rows.offsets, rows.values, rows.columns
    reader((values, across, starts, *made), sizes, high, cpu.cores())
    return rows


def _empty(shape: tuple[int, int], lengths: AnyArray, dtype: np.dtype[Any]) -> Rows:
    offsets = offsets_of(lengths, lengths.dtype)
    count = int(offsets[-1])
    return Rows(shape, np.empty(count, dtype), np.empty(count, lengths.dtype), offsets)


@last_kernels
def _spread(stem: str, text: str, *dtypes: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text.replace("TILE", str(_TILE))), dtypes)
