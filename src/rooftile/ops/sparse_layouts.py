"""How a sparse matrix lies in arrays: every format made from its rows, and rows from every format.

The rows are `Rows`: what CSR holds, columns rising within each row, no place twice, no zero stored.
Between them and any format nothing is lost, so that two conversions lead from each format to each
other one.  Formats with padding (ELL, hybrid, DIA, BSR) pad with zeros, which are no entries.

Sources: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14; Bell
and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors",
SC 2009 (hybrid, DIA); Saad, "SPARSKIT" (1994; jagged diagonals).
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


@dataclass(frozen=True)
class Rows:
    """A matrix by rows: ``values[e]`` lies in ``columns[e]``, row i's are those from
    ``offsets[i]`` to ``offsets[i + 1] - 1``."""

    shape: tuple[int, int]
    values: AnyArray
    columns: AnyArray
    offsets: AnyArray

    @property
    def entries(self) -> int:
        """How many there are."""
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
        """How many entries of its row lie before each."""
        every = np.arange(self.entries, dtype=self.offsets.dtype)
        return every - np.repeat(self.offsets[:-1], self.lengths)


@dataclass(frozen=True)
class Sorting:
    """How entries are brought into another order; a faster way may stand in for NumPy's."""

    grouped: Callable[[AnyArray, int, AnyArray, AnyArray], tuple[AnyArray, AnyArray, AnyArray]]
    """``grouped(keys, count, values, others)``: values and others in the order of rising keys
    below ``count``, equal ones as they came; and where each key's begin, as offsets."""
    turned: Callable[[Rows], Rows]
    """The transpose."""


def _grouped(
    keys: AnyArray, count: int, values: AnyArray, others: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    order = np.argsort(keys, kind="stable")
    sizes = np.bincount(keys, minlength=count)
    return offsets_of(sizes, keys.dtype), values[order], others[order]


def _turned(rows: Rows) -> Rows:
    count = rows.shape[1]
    offsets, values, columns = _grouped(rows.columns, count, rows.values, rows.of_entries)
    return Rows(rows.shape[::-1], values, columns, offsets)


NUMPY = Sorting(_grouped, _turned)


def offsets_of(sizes: AnyArray, dtype: Any) -> AnyArray:
    """Where groups of these sizes begin, and where the last one ends."""
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
    """Entries in any order; those of one place are added in float64, and zeros are left out."""
    kept = values != 0
    if not kept.all():
        values, row_index, column_index = values[kept], row_index[kept], column_index[kept]
    same, falls = row_index[1:] == row_index[:-1], row_index[1:] < row_index[:-1]
    falls |= same & (column_index[1:] < column_index[:-1])
    if falls.any():
        offsets, values, row_index = sorting.grouped(column_index, shape[1], values, row_index)
        rows = sorting.turned(Rows(shape[::-1], values, row_index, offsets))
        return summed(rows)
    offsets = offsets_of(np.bincount(row_index, minlength=shape[0]), column_index.dtype)
    return summed(Rows(shape, values, column_index, offsets))


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


def hybrid_width(rows: Rows) -> int:
    """How many entries of a row a hybrid format holds in its ELL part, at least one.

    A column of ELL pays while a third of the rows have an entry in it (Bell and Garland, 2009).
    """
    counts = np.bincount(rows.lengths, minlength=2)
    reaching = np.cumsum(counts[::-1])[::-1]
    return max(1, int(np.flatnonzero(3 * reaching >= max(1, rows.shape[0]))[-1]))


def laid_out(
    rows: Rows, form: Form, *, width: int | None = None, block: int = 4, sorting: Sorting = NUMPY
) -> Arrays:
    """The arrays of a format.

    ``width`` is that of ELL, by default the longest row's length, or of a hybrid's ELL part, by
    default `hybrid_width`; ``block`` is a block's of BSR.
    """
    if form == "csr":
        made = (rows.values, rows.columns, rows.offsets)
    elif form == "csc":
        turned = sorting.turned(rows)
        made = (turned.values, turned.columns, turned.offsets)
    elif form == "ell":
        made = _ell(rows, max(1, rows.longest) if width is None else width)
    elif form == "hybrid":
        made = _hybrid(rows, hybrid_width(rows) if width is None else width)
    elif form == "bsr":
        made = _bsr(rows, block, sorting)
    else:
        made = _BUILDERS[form](rows)
    return dict(zip(ARRAYS[form], made, strict=True))


def _coo(rows: Rows) -> tuple[AnyArray, ...]:
    return rows.values, rows.of_entries, rows.columns


def _ell(rows: Rows, width: int) -> tuple[AnyArray, ...]:
    return _padded(rows, rows.ranks, rows.of_entries, slice(None), width)


def _padded(
    rows: Rows, ranks: AnyArray, owners: AnyArray, kept: Any, width: int
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
    ends = rows.values[tail], owners[tail], rows.columns[tail]
    if not len(ends[0]):
        # No array is empty: a zero stands where the tail has no entry.
        ends = tuple(np.zeros(1, part.dtype) for part in ends)  # type: ignore[assignment]
    return values, columns, *ends


def _by_length(rows: Rows) -> AnyArray:
    """The rows by falling length, equal ones as they come."""
    # Few bits are sorted by counting them.
    lengths = rows.longest - rows.lengths
    return np.argsort(lengths.astype(np.uint16) if rows.longest < 2**16 else lengths, kind="stable")


def _jds(rows: Rows) -> tuple[AnyArray, ...]:
    order = _by_length(rows)
    lengths = rows.lengths[order]
    offsets = offsets_of(lengths, rows.offsets.dtype)
    source = np.repeat(rows.offsets[order] - offsets[:-1], lengths)
    source += np.arange(rows.entries, dtype=source.dtype)
    permutation = order.astype(rows.columns.dtype)
    return rows.values[source], rows.columns[source], offsets, permutation


def _jds_t(rows: Rows) -> tuple[AnyArray, ...]:
    order = _by_length(rows)
    offsets = _sections(rows)
    places = np.empty(rows.shape[0], rows.offsets.dtype)
    places[order] = np.arange(rows.shape[0], dtype=rows.offsets.dtype)
    at = offsets[rows.ranks] + np.repeat(places, rows.lengths)
    values, columns = np.empty_like(rows.values), np.empty_like(rows.columns)
    values[at], columns[at] = rows.values, rows.columns
    return values, columns, offsets, order.astype(rows.columns.dtype)


def _sections(rows: Rows) -> AnyArray:
    """Where the entries begin that have so many of their row before them; the last one's end."""
    shorter = np.cumsum(np.bincount(rows.lengths, minlength=1))[:-1]
    return offsets_of(rows.shape[0] - shorter, rows.offsets.dtype)


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


def _bsr(rows: Rows, block: int, sorting: Sorting) -> tuple[AnyArray, ...]:
    index = rows.columns.dtype
    high, wide = (-(-size // block) for size in rows.shape)
    owners, every = rows.of_entries, np.arange(rows.entries, dtype=index)
    # By columns of blocks, then by rows of blocks, each as they came.
    _, owner_blocks, every = sorting.grouped(rows.columns // block, wide, owners // block, every)
    _, every, owner_blocks = sorting.grouped(owner_blocks, high, every, owner_blocks)
    column_blocks = rows.columns[every] // block
    fresh = np.ones(rows.entries, bool)
    fresh[1:] = (column_blocks[1:] != column_blocks[:-1]) | (owner_blocks[1:] != owner_blocks[:-1])
    number = np.cumsum(fresh) - 1
    count = max(1, int(fresh.sum()))
    values = np.zeros((count, block, block), rows.values.dtype)
    values[number, owners[every] % block, rows.columns[every] % block] = rows.values[every]
    columns = np.zeros(count, index)
    columns[: int(fresh.sum())] = column_blocks[fresh]
    offsets = offsets_of(np.bincount(owner_blocks[fresh], minlength=high), index)
    return values, columns, offsets


_BUILDERS: dict[str, Callable[[Rows], tuple[AnyArray, ...]]] = {
    "coo": _coo,
    "jds": _jds,
    "jds_t": _jds_t,
    "dia": _dia,
}


def rows_of(
    form: Form, shape: tuple[int, int], arrays: Mapping[str, AnyArray], sorting: Sorting = NUMPY
) -> Rows:
    """The rows of a matrix that `laid_out` has laid out in a format."""
    given = [arrays[name] for name in ARRAYS[form]]
    if form == "csr":
        return Rows(shape, *given)
    if form == "csc":
        return sorting.turned(Rows(shape[::-1], *given))
    if form == "jds":
        return _of_jds(shape, *given)
    if form == "jds_t":
        return _of_jds_t(shape, *given)
    return of_triplets(shape, *triplets(form, arrays), sorting)


def _of_jds(
    shape: tuple[int, int],
    values: AnyArray,
    columns: AnyArray,
    ends: AnyArray,
    permutation: AnyArray,
) -> Rows:
    starts, lengths = np.empty_like(ends[1:]), np.empty_like(ends[1:])
    starts[permutation], lengths[permutation] = ends[:-1], np.diff(ends)
    offsets = offsets_of(lengths, ends.dtype)
    source = np.repeat(starts - offsets[:-1], lengths)
    source += np.arange(len(values), dtype=source.dtype)
    return Rows(shape, values[source], columns[source], offsets)


def _of_jds_t(
    shape: tuple[int, int],
    values: AnyArray,
    columns: AnyArray,
    sections: AnyArray,
    permutation: AnyArray,
) -> Rows:
    # The row of this rank among the sorted ones has as many entries as sections are longer.
    sorted_lengths = np.searchsorted(-np.diff(sections), -np.arange(shape[0]), "left")
    lengths, places = np.empty_like(permutation), np.empty_like(permutation)
    lengths[permutation] = sorted_lengths
    places[permutation] = np.arange(shape[0])
    offsets = offsets_of(lengths, sections.dtype)
    made = Rows(shape, values, columns, offsets)
    source = sections[made.ranks] + np.repeat(places, lengths)
    return Rows(shape, values[source], columns[source], offsets)


def triplets(form: Form, arrays: Mapping[str, AnyArray]) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Values, rows and columns of all that is stored; padding, which has the value 0, is left out.

    Rows come in rising order, and columns within them, from ELL, DIA and what lists rows.
    """
    given = [arrays[name] for name in ARRAYS[form]]
    if form == "coo":
        return given[0], given[1], given[2]
    if form in ("csr", "csc"):
        values, index, offsets = given
        major = np.repeat(np.arange(len(offsets) - 1, dtype=index.dtype), np.diff(offsets))
        return (values, major, index) if form == "csr" else (values, index, major)
    if form == "ell":
        return _stored(given[0], given[1])
    if form == "hybrid":
        parts = zip(_stored(given[0], given[1]), given[2:], strict=True)
        values, rows, columns = (np.concatenate(part) for part in parts)
        some = values != 0
        return values[some], rows[some], columns[some]
    if form in ("jds", "jds_t"):
        build = _of_jds if form == "jds" else _of_jds_t
        rows_ = build((len(given[3]), 0), *given)
        return rows_.values, rows_.of_entries, rows_.columns
    if form == "dia":
        values, diagonals = given
        across = np.arange(values.shape[1], dtype=diagonals.dtype)
        return _stored(values, diagonals[:, None] + across)
    return _of_blocks(*given)


def _stored(values: AnyArray, columns: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Of arrays [width][rows] what is not 0, row by row."""
    some = values.T != 0
    rows = np.repeat(np.arange(values.shape[1]), some.sum(axis=1)).astype(columns.dtype)
    return values.T[some], rows, columns.T[some]


def _of_blocks(
    values: AnyArray, columns: AnyArray, offsets: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    owners = np.repeat(np.arange(len(offsets) - 1, dtype=columns.dtype), np.diff(offsets))
    count, block = len(owners), values.shape[1]
    number, i, j = np.nonzero(values[:count])
    at = number, i, j
    index = columns.dtype
    return (
        values[at],
        (owners[number] * block + i).astype(index),
        (columns[number] * block + j).astype(index),
    )
