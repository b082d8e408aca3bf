"""Formats hold the matrix, in as many numbers as the formulas say."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis import sparse
from rooftile.errors import InputError


@st.composite
def matrices(draw):
    columns = draw(st.integers(1, 6))
    row = st.lists(st.sampled_from((0, 0, 1, 2, 3)), min_size=columns, max_size=columns)
    return draw(st.lists(row, min_size=1, max_size=6))


def _rebuilt(form, a, rows, columns):
    found = [[0] * columns for _ in range(rows)]
    if form == "coo":
        places = zip(a["row_index"], a["col_index"], a["data"], strict=True)
    elif form == "ell":
        cells = zip(range(rows * a["num_elem"]), a["col_index"], a["data"], strict=True)
        places = ((k % rows, j, v) for k, j, v in cells if v is not None)
    else:
        pointers = a["row_ptr" if "row_ptr" in a else "col_ptr"]
        order, places = a.get("row_perm"), []
        for line, (first, last) in enumerate(itertools.pairwise(pointers)):
            for k in range(first, last):
                place = {
                    "csr": (line, k),
                    "csc": (k, line),
                    "jds": (line, k),
                    "jds_t": (k - first, k),
                }[form]
                places.append((*place, a["data"][k]))
        rows_of = {"csr": lambda i: i, "csc": lambda k: a["row_index"][k]}
        row_of = rows_of.get(form, lambda i: order[i])
        column_of = (lambda j: j) if form == "csc" else (lambda k: a["col_index"][k])
        places = [(row_of(i), column_of(j), value) for i, j, value in places]
    for i, j, value in places:
        found[i][j] = value
    return found


@given(matrices(), st.sampled_from(("coo", "csr", "csc", "ell", "jds", "jds_t")))
def test_a_format_holds_the_matrix_and_takes_what_is_said(matrix, form):
    arrays = sparse.storage(matrix, form)
    rows, columns = len(matrix), len(matrix[0])
    assert _rebuilt(form, arrays, rows, columns) == matrix
    counts = [sum(v != 0 for v in row) for row in matrix]
    numbers = sum(len(array) for array in arrays.values() if isinstance(array, list))
    expected = sparse.storage_integers(form, rows, columns, sum(counts), max(counts))
    assert numbers == expected
    if form == "ell":
        assert sparse.ell_padding(rows, sum(counts), max(counts)) == arrays["data"].count(None)


@given(matrices())
def test_a_format_is_found_from_its_values(matrix):
    for form in ("csr", "jds", "jds_t"):
        found = sparse.formats_of(matrix, sparse.storage(matrix, form)["data"])
        assert {form, "coo"} <= set(found)


def test_formats_that_suit_row_lengths():
    assert sparse.suggested_format([4, 5, 4, 5]) == "ell"
    assert sparse.suggested_format([0] * 9 + [1]) == "coo"
    assert sparse.suggested_format([4] * 99 + [500]) == "ell+coo"
    assert sparse.suggested_format(list(range(1, 50))) == "jds"


def test_bad_input():
    with pytest.raises(InputError, match="format"):
        sparse.storage([[1]], "dia")
    with pytest.raises(InputError, match="matrix"):
        sparse.storage([[1, 2], [1]], "csr")
    with pytest.raises(InputError, match="nonzeros"):
        sparse.storage_integers("csr", 2, 2, 5, 2)
