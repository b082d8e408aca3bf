"""The arrays of a sparse matrix that a caller has laid out: whether a product may read by them.

Kernels read and write where indices, offsets and permutations say, so these are looked at once,
when the matrix is made.  Arrays that the caller changes afterwards are not looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rooftile.errors import InputError, check_word
from rooftile.functional.sparse_matrices.given import check_offsets, check_range
from rooftile.ops.checks import is_whole
from rooftile.ops.problem import AnyArray
from rooftile.ops.sparse.layouts import laid_out
from rooftile.ops.sparse.rows import ARRAYS, FORMS, Arrays, Form, Rows, shapes_of, summed
from rooftile.ops.sparse.spmv import DTYPES
from rooftile.strategies.common.sparse_conversion import rows_of
from rooftile.strategies.common.sparse_sorting import SORTING, looked_in_rows

_VALUES = ("values", "tail_values")
_AXES = {"ell": 2, "hybrid": 2, "dia": 2, "bsr": 3}
"""Axes of the values, where they are not 1."""
_LISTED = {"coo": "row_index", "hybrid": "tail_rows"}
"""The rows of entries that stand in a list."""
_INDICES = ("int32", "int64")
_NONE = np.zeros(0, np.int32)


def checked(shape: Any, form: Any, arrays: Any, entries: Any) -> tuple[Arrays, int]:
    """The format's arrays in its order, contiguous, and the number of entries.

    Entries out of their order, or twice in one place, come as copies that are sorted and added up.
    Raises `InputError`, which names the array, the element and the rule that it breaks.
    """
    check_word("format", form, FORMS)
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(map(_is_count, shape))):
        raise InputError("shape", repr(shape), "(rows, columns)")
    if not _is_count(entries):
        raise InputError("entries", repr(entries), "a whole number of at least 0")
    if not isinstance(arrays, Mapping) or set(arrays) != set(ARRAYS[form]):
        found = sorted(arrays) if isinstance(arrays, Mapping) else type(arrays).__name__
        raise InputError("arrays", str(found), f"the arrays of {form}: {list(ARRAYS[form])}")
    made = {name: _plain(name, arrays[name]) for name in ARRAYS[form]}
    _check_dtypes(made)
    _check_shapes(shape, form, made, entries)
    _check_places(shape, form, made, entries)
    if form in ("dia", "bsr"):
        _check_padding(shape, form, made)
    ordered = _ordered(shape, form, made)
    return (made, entries) if ordered is None else ordered


def _ordered(shape: tuple[int, int], form: Form, arrays: Arrays) -> tuple[Arrays, int] | None:
    """The arrays whose rows go in order and whose columns rise in each row, which products and
    conversions rely on, and the number of entries; None where those given are so."""
    if form in _LISTED:
        rows = arrays[_LISTED[form]]
        if (rows[1:] >= rows[:-1]).all():
            return None
        sorted_rows = rows_of(form, shape, arrays)
        width = len(arrays["values"]) if form == "hybrid" else None
        return laid_out(sorted_rows, form, width=width), sorted_rows.entries
    if form not in ("csr", "csc", "jds", "jds_t"):
        return None
    # CSC has the arrays of the transpose's rows.
    given = Rows(shape[::-1], *arrays.values()) if form == "csc" else rows_of(form, shape, arrays)
    _, falls, repeats, _ = looked_in_rows(given)
    if not (falls or repeats):
        return None
    # To turn a matrix twice sorts the columns of its rows.
    made = summed(SORTING.turned(SORTING.turned(given)) if falls else given)
    if form == "csc":
        parts = made.values, made.columns, made.offsets
        return dict(zip(ARRAYS[form], parts, strict=True)), made.entries
    return laid_out(made, form), made.entries


def _is_count(number: Any) -> bool:
    return is_whole(number) and number >= 0


def _plain(name: str, array: Any) -> AnyArray:
    if not isinstance(array, np.ndarray) or not array.dtype.isnative:
        found = f"a {type(array).__name__}"
        raise InputError(_of(name), found, "a NumPy array in native byte order")
    return np.ascontiguousarray(array)


def _of(name: str) -> str:
    return f"arrays[{name!r}]"


def _check_dtypes(arrays: Arrays) -> None:
    first = next(name for name in arrays if name not in _VALUES)
    for name, array in arrays.items():
        of_values = name in _VALUES
        allowed, like = (DTYPES, "values") if of_values else (_INDICES, first)
        found, expected = array.dtype.name, arrays[like].dtype.name
        if found not in allowed:
            raise InputError(_of(name), f"dtype {found}", f"one of {list(allowed)}")
        if found != expected:
            raise InputError(_of(name), f"dtype {found}", f"{expected}, as {like} has")


def _check_shapes(shape: tuple[int, int], form: Form, arrays: Arrays, entries: int) -> None:
    values = arrays["values"]
    if values.ndim != _AXES.get(form, 1):
        found, expected = f"{values.ndim} axes", f"{_AXES.get(form, 1)}, as {form} has them"
        raise InputError(_of("values"), found, expected)
    width = arrays["section_offsets"].size - 1 if form == "jds_t" else len(values)
    block = values.shape[1] if form == "bsr" else 0
    if form == "bsr" and not block:
        raise InputError(_of("values"), f"shape {values.shape}", "blocks of at least 1x1")
    tail = arrays["tail_values"].size if form == "hybrid" else 0
    shapes = shapes_of(form, shape, entries, max(0, width), tail, block)
    for (name, array), wanted in zip(arrays.items(), shapes, strict=True):
        if array.shape != wanted:
            raise InputError(_of(name), f"shape {array.shape}", f"{wanted}, as {form} has it")
    if entries > (room := values.size + tail):
        raise InputError("entries", entries, f"at most {room}, the values that are stored")


def _check_places(shape: tuple[int, int], form: Form, arrays: Arrays, entries: int) -> None:
    """Raise `InputError` for an index, an offset or a row's place that the matrix does not have."""
    # Padding has the index 0, in a matrix without rows or columns too.
    rows, columns = (max(1, size) for size in shape)
    block = arrays["values"].shape[1] if form == "bsr" else 1
    wide, high = -(-columns // block), -(-shape[0] // block)
    limits = {
        "row_index": (rows, "rows"),
        "column_index": (columns, "columns"),
        "tail_rows": (rows, "rows"),
        "tail_columns": (columns, "columns"),
        "permutation": (rows, "rows"),
        "block_columns": (wide, "columns of blocks"),
    }
    for name, array in arrays.items():
        if name in limits:
            check_range(_of(name), array, *limits[name])
    # Without an entry BSR holds a block that belongs to no row.
    ends = {
        "row_offsets": (shape[0], entries),
        "column_offsets": (shape[1], entries),
        "block_offsets": (high, len(arrays["values"]) if entries else 0),
        "section_offsets": (arrays.get("section_offsets", _NONE).size - 1, entries),
    }
    for name, array in arrays.items():
        if name in ends:
            check_offsets(array, *ends[name], _of(name))
    if form in ("jds", "jds_t"):
        _check_jagged(shape[0], form, arrays)


def _check_jagged(rows: int, form: Form, arrays: Arrays) -> None:
    order = arrays["permutation"]
    counts = np.bincount(order, minlength=rows)
    if (counts != 1).any():
        row = int(np.flatnonzero(counts != 1)[0])
        raise InputError(_of("permutation"), f"row {row} {counts[row]} times", "every row once")
    name = "row_offsets" if form == "jds" else "section_offsets"
    sizes = np.diff(arrays[name])
    rises = np.flatnonzero(sizes[1:] > sizes[:-1])
    if rises.size or (form == "jds_t" and sizes.max(initial=0) > rows):
        at = int(rises[0]) + 1 if rises.size else 0
        expected = f"at most {sizes[at - 1] if at else rows}: rows go by falling length"
        raise InputError(f"{_of(name)}[{at + 1}]", f"{sizes[at]} entries", expected)


def _check_padding(shape: tuple[int, int], form: Form, arrays: Arrays) -> None:
    """Raise `InputError` where a diagonal, or a block, has a value outside the matrix."""
    rows, columns = shape
    values = arrays["values"]
    if form == "dia":
        for k, diagonal in enumerate(arrays["diagonals"].tolist()):
            if not -max(1, rows) < diagonal < max(1, columns):
                expected = f"above {-rows} and below {columns}: column - row"
                raise InputError(f"{_of('diagonals')}[{k}]", diagonal, expected)
            first, last = max(0, -diagonal), max(0, columns - diagonal)
            if values[k, :first].any() or values[k, last:].any():
                found = f"a value of diagonal {diagonal} outside the matrix"
                raise InputError(f"{_of('values')}[{k}]", found, "zeros there")
        return
    across, starts = arrays["block_columns"], arrays["block_offsets"]
    block = values.shape[1]
    below = (
        values[starts[-2] : starts[-1], rows - rows // block * block :]
        if rows % block
        else values[:0]
    )
    behind = (
        values[across == columns // block, :, columns % block :] if columns % block else values[:0]
    )
    if below.any() or behind.any():
        raise InputError(_of("values"), "a value of a block outside the matrix", "zeros there")
