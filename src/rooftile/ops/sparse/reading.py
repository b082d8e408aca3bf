"""A sparse matrix's entries, read from the arrays of any format."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.rows import ARRAYS, NUMPY, Form, Rows, Sorting, of_triplets, offsets_of


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
