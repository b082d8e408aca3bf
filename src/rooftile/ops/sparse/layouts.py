"""The formats of a sparse matrix, each made from its rows.

Formats with padding (ELL, hybrid, DIA, BSR) pad with zeros, which are no entries.

Sources: PMPP, chapter 14; Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC 2009 (hybrid, DIA); Saad, "SPARSKIT" (1994; jagged diagonals).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.rows import ARRAYS, NUMPY, Arrays, Form, Rows, Sorting, offsets_of


def hybrid_width(lengths: AnyArray) -> int:
    """Number of a row's entries in the ELL part of a hybrid format, at least one.

    A column of ELL pays while a third of the rows have an entry in it (Bell and Garland, 2009).
    """
    if not len(lengths):
        return 1
    counts = np.bincount(lengths, minlength=2)
    reaching = np.cumsum(counts[::-1])[::-1]
    return max(1, int(np.flatnonzero(3 * reaching >= max(1, len(lengths)))[-1]))


def laid_out(
    rows: Rows, form: Form, *, width: int | None = None, block: int = 4, sorting: Sorting = NUMPY
) -> Arrays:
    """The arrays of a format.

    ``width`` is that of ELL, by default the longest row's length, or of a hybrid's ELL part, by
    default `hybrid_width`; ``block`` is a block's of BSR.
    """
    made: tuple[AnyArray, ...]
    if form == "csr":
        made = (rows.values, rows.columns, rows.offsets)
    elif form == "csc":
        turned = sorting.turned(rows)
        made = (turned.values, turned.columns, turned.offsets)
    elif form == "ell":
        made = _ell(rows, max(1, rows.longest) if width is None else width)
    elif form == "hybrid":
        made = _hybrid(rows, hybrid_width(rows.lengths) if width is None else width)
    elif form == "bsr":
        made = sorting.blocks(rows, block)
    else:
        made = _BUILDERS[form](rows)
    return dict(zip(ARRAYS[form], made, strict=True))


def _coo(rows: Rows) -> tuple[AnyArray, ...]:
    return rows.values, rows.of_entries, rows.columns


def _ell(rows: Rows, width: int) -> tuple[AnyArray, ...]:
    ranks = rows.ranks
    return _padded(rows, ranks, rows.of_entries, ranks < width, width)


def _padded(
    rows: Rows, ranks: AnyArray, owners: AnyArray, kept: AnyArray, width: int
) -> tuple[AnyArray, AnyArray]:
    """Two arrays [width][rows]; padding has the value 0 and the column 0."""
    values = np.zeros((width, rows.shape[0]), rows.values.dtype)
    columns = np.zeros((width, rows.shape[0]), rows.columns.dtype)
    at = ranks[kept].astype(np.int64) * rows.shape[0] + owners[kept]
    values.reshape(-1)[at] = rows.values[kept]
    columns.reshape(-1)[at] = rows.columns[kept]
    return values, columns


def _hybrid(rows: Rows, width: int) -> tuple[AnyArray, ...]:
    ranks, owners = rows.ranks, rows.of_entries
    tail = ranks >= width
    values, columns = _padded(rows, ranks, owners, ~tail, width)
    ends = [rows.values[tail], owners[tail], rows.columns[tail]]
    if not tail.any():
        # No array is empty: a zero stands where the tail has no entry.
        ends = [np.zeros(1, part.dtype) for part in ends]
    return values, columns, *ends


def by_length(lengths: AnyArray) -> AnyArray:
    """The rows by falling length, equal ones as they come."""
    # Few bits are sorted by counting them.
    longest = int(lengths.max(initial=0))
    keys = longest - lengths
    return np.argsort(keys.astype(np.uint16) if longest < 2**16 else keys, kind="stable")


def _jds(rows: Rows) -> tuple[AnyArray, ...]:
    order = by_length(rows.lengths)
    lengths = rows.lengths[order]
    offsets = offsets_of(lengths, rows.offsets.dtype)
    source = np.repeat(rows.offsets[order] - offsets[:-1], lengths)
    source += np.arange(rows.entries, dtype=source.dtype)
    permutation = order.astype(rows.columns.dtype)
    return rows.values[source], rows.columns[source], offsets, permutation


def _jds_t(rows: Rows) -> tuple[AnyArray, ...]:
    order = by_length(rows.lengths)
    offsets = sections_of(rows.lengths, rows.offsets.dtype)
    places = np.empty(rows.shape[0], rows.offsets.dtype)
    places[order] = np.arange(rows.shape[0], dtype=rows.offsets.dtype)
    at = offsets[rows.ranks] + np.repeat(places, rows.lengths)
    values, columns = np.empty_like(rows.values), np.empty_like(rows.columns)
    values[at], columns[at] = rows.values, rows.columns
    return values, columns, offsets, order.astype(rows.columns.dtype)


def sections_of(lengths: AnyArray, dtype: Any) -> AnyArray:
    """For each k the first entry with k entries of its row before it; and the end of the last."""
    shorter = np.cumsum(np.bincount(lengths, minlength=1))[:-1]
    return offsets_of(len(lengths) - shorter, dtype)


def _dia(rows: Rows) -> tuple[AnyArray, ...]:
    height = rows.shape[0]
    owners = rows.of_entries
    above = rows.columns.astype(np.int64) - owners + (height - 1)
    used = np.zeros(sum(rows.shape), bool)
    used[above] = True
    found = np.flatnonzero(used)
    number = np.cumsum(used) - 1
    values = np.zeros((max(1, len(found)), height), rows.values.dtype)
    values[number[above], owners] = rows.values
    diagonals = found - (height - 1) if len(found) else np.zeros(1, np.int64)
    return values, diagonals.astype(rows.columns.dtype)


_BUILDERS: dict[str, Callable[[Rows], tuple[AnyArray, ...]]] = {
    "coo": _coo,
    "jds": _jds,
    "jds_t": _jds_t,
    "dia": _dia,
}
