"""A sparse matrix by rows, and the names of the formats that it may be held in.

`Rows` are what CSR holds, columns rising within each row, no place twice, no zero stored. Between
them and any format nothing is lost (`rooftile.ops.sparse.layouts`, `rooftile.ops.sparse.reading`),
so that two conversions lead from each format to each other one.

Source: PMPP, chapter 14.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from rooftile.ops.problem import AnyArray

Form = Literal["coo", "csr", "csc", "ell", "hybrid", "jds", "jds_t", "dia", "bsr"]
FORMS: tuple[Form, ...] = get_args(Form)
"""The formats that products are computed in."""
Arrays = dict[str, AnyArray]

ARRAYS: Mapping[Form, tuple[str, ...]] = {
    "coo": ("values", "row_index", "column_index"),
    "csr": ("values", "column_index", "row_offsets"),
    "csc": ("values", "row_index", "column_offsets"),
    "ell": ("values", "column_index"),
    "hybrid": ("values", "column_index", "tail_values", "tail_rows", "tail_columns"),
    "jds": ("values", "column_index", "row_offsets", "permutation"),
    "jds_t": ("values", "column_index", "section_offsets", "permutation"),
    "dia": ("values", "diagonals"),
    "bsr": ("values", "block_columns", "block_offsets"),
}
"""The names of a format's arrays, in the order in which kernels are given them."""


def shapes_of(
    form: Form, shape: tuple[int, int], entries: int, width: int, tail: int, block: int
) -> tuple[tuple[int, ...], ...]:
    """The shapes of a format's arrays, in the order of `ARRAYS`.

    ``width``, ``tail`` and ``block`` are as in `rooftile.ops.sparse.spmv.Spmv`.
    """
    rows, columns = shape
    lists = {
        "coo": ((entries,),) * 3,
        "csr": ((entries,), (entries,), (rows + 1,)),
        "csc": ((entries,), (entries,), (columns + 1,)),
        "ell": ((width, rows),) * 2,
        "hybrid": ((width, rows),) * 2 + ((tail,),) * 3,
        "jds": ((entries,), (entries,), (rows + 1,), (rows,)),
        "jds_t": ((entries,), (entries,), (width + 1,), (rows,)),
        "dia": ((width, rows), (width,)),
    }
    if form != "bsr":
        return lists[form]
    return (width, block, block), (width,), (-(-rows // block) + 1,)


@dataclass(frozen=True)
class Rows:
    """A matrix by rows: ``values[e]`` is in column ``columns[e]``; row i has the entries from
    ``offsets[i]`` to ``offsets[i + 1] - 1``."""

    shape: tuple[int, int]
    values: AnyArray
    columns: AnyArray
    offsets: AnyArray

    @property
    def entries(self) -> int:
        """Number of entries."""
        return len(self.values)

    @cached_property
    def lengths(self) -> AnyArray:
        """Entries of each row."""
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        """Entries of the longest row."""
        return int(self.lengths.max(initial=0))

    @property
    def of_entries(self) -> AnyArray:
        """The row of each entry."""
        count = np.arange(self.shape[0], dtype=self.columns.dtype)
        return np.repeat(count, self.lengths)

    @property
    def ranks(self) -> AnyArray:
        """Each entry's number of entries of its row before it."""
        every: AnyArray = np.arange(self.entries, dtype=self.offsets.dtype)
        every -= np.repeat(self.offsets[:-1], self.lengths)
        return every


@dataclass(frozen=True)
class Sorting:
    """The sorting of entries; a faster way may stand in for NumPy's."""

    grouped: Callable[[AnyArray, int, AnyArray, AnyArray], tuple[AnyArray, AnyArray, AnyArray]]
    """``grouped(keys, count, values, others)``: where each key's begin, as offsets; values and
    others in the order of rising keys below ``count``, equal ones as they came."""
    turned: Callable[[Rows], Rows]
    """The transpose."""
    looked: Callable[[AnyArray, AnyArray, AnyArray], tuple[bool, bool, bool]]
    """``looked(values, rows, columns)``: three flags: a value is 0, a place is before the previous
    one, a place equals the previous one."""
    starts: Callable[[AnyArray, int], AnyArray]
    """``starts(rows, count)``: offsets of rows, where entries lie in their order."""
    blocks: Callable[[Rows, int], tuple[AnyArray, AnyArray, AnyArray]]
    """``blocks(rows, size)``: the ``size`` x ``size`` squares that have an entry, whole; their
    columns of squares, which rise in each row of squares; and the first square of each row."""


def _grouped(
    keys: AnyArray, count: int, values: AnyArray, others: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    order = np.argsort(keys, kind="stable")
    return _starts(keys, count), values[order], others[order]


def _turned(rows: Rows) -> Rows:
    count = rows.shape[1]
    offsets, values, columns = _grouped(rows.columns, count, rows.values, rows.of_entries)
    return Rows(rows.shape[::-1], values, columns, offsets)


def _looked(values: AnyArray, rows: AnyArray, columns: AnyArray) -> tuple[bool, bool, bool]:
    same = rows[1:] == rows[:-1]
    falls = (rows[1:] < rows[:-1]) | (same & (columns[1:] < columns[:-1]))
    repeats = same & (columns[1:] == columns[:-1])
    return bool((values == 0).any()), bool(falls.any()), bool(repeats.any())


def _starts(rows: AnyArray, count: int) -> AnyArray:
    return offsets_of(np.bincount(rows, minlength=count), rows.dtype)


def _blocks(rows: Rows, size: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    high, wide = (-(-count // size) for count in rows.shape)
    down, across = rows.of_entries.astype(np.int64), rows.columns.astype(np.int64)
    squares, number = np.unique(down // size * wide + across // size, return_inverse=True)
    values = np.zeros((max(1, len(squares)), size, size), rows.values.dtype)
    values[number, down % size, across % size] = rows.values
    columns = np.zeros(len(values), rows.columns.dtype)
    columns[: len(squares)] = squares % wide
    counts = np.bincount(squares // wide, minlength=high)
    return values, columns, offsets_of(counts, rows.columns.dtype)


NUMPY = Sorting(_grouped, _turned, _looked, _starts, _blocks)


def offsets_of(sizes: AnyArray, dtype: Any) -> AnyArray:
    """The first index of each group of these sizes, and the end of the last."""
    made = np.zeros(len(sizes) + 1, dtype)
    np.cumsum(sizes, out=made[1:])
    return made


def of_triplets(
    shape: tuple[int, int],
    values: AnyArray,
    row_index: AnyArray,
    column_index: AnyArray,
    sorting: Sorting = NUMPY,
) -> Rows:
    """Entries in any order; entries of one place are added in float64, and zeros are left out."""
    zeros, falls, repeats = sorting.looked(values, row_index, column_index)
    if zeros:
        kept = values != 0
        values, row_index, column_index = values[kept], row_index[kept], column_index[kept]
    if falls:
        offsets, values, row_index = sorting.grouped(column_index, shape[1], values, row_index)
        return summed(sorting.turned(Rows(shape[::-1], values, row_index, offsets)))
    rows = Rows(shape, values, column_index, sorting.starts(row_index, shape[0]))
    return summed(rows) if repeats else rows


def summed(rows: Rows) -> Rows:
    """Rows whose columns rise, or stay where entries have one place: these are added up."""
    repeated = np.zeros(rows.entries, bool)
    np.equal(rows.columns[1:], rows.columns[:-1], out=repeated[1:])
    starts = rows.offsets[:-1]
    repeated[starts[rows.lengths > 0]] = False
    if not repeated.any():
        return rows
    first = np.flatnonzero(~repeated)
    values = np.add.reduceat(rows.values.astype(np.float64), first).astype(rows.values.dtype)
    owners, columns = rows.of_entries[first], rows.columns[first]
    kept = values != 0
    sizes = np.bincount(owners[kept], minlength=rows.shape[0])
    return Rows(rows.shape, values[kept], columns[kept], offsets_of(sizes, rows.offsets.dtype))
