"""Storage of sparse matrices: which arrays a format has, and how much they take.

Source: PMPP, chapter 14.  Zeros are the elements that compare equal to 0; elements of a row
keep their order, and jagged formats (``jds``, PMPP section 14.6) sort rows stably by falling
length.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive

Format = Literal["coo", "csr", "csc", "ell", "jds", "jds_t"]
Matrix = Sequence[Sequence[float]]
Arrays = dict[str, Any]
_Row = list[tuple[int, float]]


def storage(matrix: Matrix, form: Format) -> Arrays:
    """The arrays of a matrix in a format.

    ``coo``: data, col_index, row_index.  ``csr``: data, col_index, row_ptr; ``csc`` the same
    by columns.  ``ell``: data and col_index, column-major, None where padded, and num_elem, the
    longest row's.  ``jds``: csr of the sorted rows, and row_perm; ``jds_t`` stores them by
    columns, with col_ptr.
    """
    rows = _rows(matrix)
    if form not in _STORAGE:
        raise unknown("format", form, _STORAGE)
    return _STORAGE[form](rows, len(matrix[0]))


def storage_integers(form: Format, rows: int, columns: int, nonzeros: int, longest: int) -> int:
    """Numbers that a format stores, one a value and one an index.

    With m rows, n columns, k nonzeros, longest row L: coo 3k, csr 2k + m + 1, csc 2k + n + 1,
    ell 2mL, jds 2k + 2m + 1, jds_t 2k + m + L + 1.
    """
    check_positive(rows=rows, columns=columns)
    if not 0 <= nonzeros <= rows * longest or not 0 <= longest <= columns:
        raise InputError("nonzeros", nonzeros, f"at most {rows} rows of {longest}")
    sizes = {
        "coo": 3 * nonzeros,
        "csr": 2 * nonzeros + rows + 1,
        "csc": 2 * nonzeros + columns + 1,
        "ell": 2 * rows * longest,
        "jds": 2 * nonzeros + 2 * rows + 1,
        "jds_t": 2 * nonzeros + rows + longest + 1,
    }
    if form not in sizes:
        raise unknown("format", form, sizes)
    return sizes[form]


def ell_padding(rows: int, nonzeros: int, longest: int) -> int:
    """Elements that ELL adds: rows x longest - nonzeros."""
    check_positive(rows=rows)
    if not 0 <= nonzeros <= rows * longest:
        raise InputError("nonzeros", nonzeros, f"at most {rows} rows of {longest}")
    return rows * longest - nonzeros


def spmv_reuse(columns: int, nonzeros: int) -> tuple[float, float]:
    """Uses of each element of the matrix, 1, and of the vector on average, nonzeros / columns."""
    check_positive(columns=columns, nonzeros=nonzeros)
    return 1.0, nonzeros / columns


def formats_of(matrix: Matrix, values: Sequence[float]) -> list[str]:
    """Formats whose data array can be this sequence of values.

    COO may have any order; ELL pads with zeros, and may leave out rows without an element.
    """
    rows = _rows(matrix)
    given, found = list(values), []
    for form in ("csr", "ell", "jds", "jds_t"):
        candidates = [rows] if form != "ell" else [rows, [row for row in rows if row]]
        arrays = (_STORAGE[form](c, len(matrix[0])) for c in candidates)
        if any([v or 0 for v in a["data"]] == given for a in arrays):
            found.append(form)
    if sorted(given) == sorted(value for row in rows for _, value in row):
        found.append("coo")
    return found


def suggested_format(lengths: Sequence[int]) -> str:
    """A format that suits these row lengths, after PMPP, sections 14.4 to 14.6.

    Less than one element a row: coo, where csr and ell pay for every row.  ELL's padding at
    most half of the elements: ell.  Few rows (a tenth) so long that they cause the padding:
    ell+coo, which takes what is beyond the others' length into COO.  Else jds.
    """
    if not lengths or min(lengths) < 0:
        raise InputError("lengths", list(lengths), "one or more, none below 0")
    ordered, total = sorted(lengths), sum(lengths)
    if total < len(ordered):
        return "coo"
    if 2 * (len(ordered) * ordered[-1] - total) <= total:
        return "ell"
    usual = ordered[: max(1, len(ordered) * 9 // 10)]
    if 2 * (len(usual) * usual[-1] - sum(usual)) <= sum(usual):
        return "ell+coo"
    return "jds"


def _rows(matrix: Matrix) -> list[_Row]:
    if not matrix or not matrix[0] or any(len(row) != len(matrix[0]) for row in matrix):
        raise InputError("matrix", matrix, "rows of one length, at least 1")
    return [[(j, value) for j, value in enumerate(row) if value != 0] for row in matrix]


def _pointers(counts: Sequence[int]) -> list[int]:
    return list(itertools.accumulate(counts, initial=0))


def _csr(rows: Sequence[_Row], columns: int) -> Arrays:
    return {
        "data": [value for row in rows for _, value in row],
        "col_index": [j for row in rows for j, _ in row],
        "row_ptr": _pointers([len(row) for row in rows]),
    }


def _coo(rows: Sequence[_Row], columns: int) -> Arrays:
    arrays = _csr(rows, columns)
    del arrays["row_ptr"]
    return {**arrays, "row_index": [i for i, row in enumerate(rows) for _ in row]}


def _csc(rows: Sequence[_Row], columns: int) -> Arrays:
    turned: list[_Row] = [[] for _ in range(columns)]
    for i, row in enumerate(rows):
        for j, value in row:
            turned[j].append((i, value))
    arrays = _csr(turned, len(rows))
    return {"data": arrays["data"], "row_index": arrays["col_index"], "col_ptr": arrays["row_ptr"]}


def _ell(rows: Sequence[_Row], columns: int) -> Arrays:
    longest = max((len(row) for row in rows), default=0)
    padded = [row[k] if k < len(row) else (None, None) for k in range(longest) for row in rows]
    return {
        "data": [value for _, value in padded],
        "col_index": [j for j, _ in padded],
        "num_elem": longest,
    }


def _sorted(rows: Sequence[_Row]) -> tuple[list[int], list[_Row]]:
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    return order, [rows[i] for i in order]


def _jds(rows: Sequence[_Row], columns: int) -> Arrays:
    order, moved = _sorted(rows)
    return {**_csr(moved, columns), "row_perm": order}


def _jds_t(rows: Sequence[_Row], columns: int) -> Arrays:
    order, moved = _sorted(rows)
    longest = len(moved[0]) if moved else 0
    by_column = [[row[k] for row in moved if k < len(row)] for k in range(longest)]
    return {
        "data": [value for column in by_column for _, value in column],
        "col_index": [j for column in by_column for j, _ in column],
        "col_ptr": _pointers([len(column) for column in by_column]),
        "row_perm": order,
    }


_STORAGE: dict[str, Callable[[Sequence[_Row], int], Arrays]] = {
    "coo": _coo,
    "csr": _csr,
    "csc": _csc,
    "ell": _ell,
    "jds": _jds,
    "jds_t": _jds_t,
}
