"""Formats of sparse matrices: every conversion is exact, and stores what the analysis counts."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.analysis import sparse as counted
from rooftile.analysis.spmv import moved_bytes, rule_of_thumb, stored_bytes
from rooftile.functional.sparse_matrices.structure import structure_of
from rooftile.ops.sparse.families import families
from rooftile.ops.sparse.layouts import laid_out
from rooftile.ops.sparse.packets import packets_of, rows_of_packets
from rooftile.ops.sparse.reading import rows_of
from rooftile.ops.sparse.rows import FORMS, Rows, of_triplets
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.sparse_sorting import SORTING

EXAMPLE = np.array(
    [[0, 2, 0, 0, 1], [0, 0, 0, 0, 0], [3, 4, 0, 5, 0], [0, 0, 6, 0, 0], [7, 0, 8, 0, 9]], float
)


@st.composite
def matrices(draw):
    """Triplets of integers: empty rows and columns, a full row, nothing at all, repeated places."""
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    places = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    entries = draw(st.lists(st.tuples(places, st.integers(-3, 3)), max_size=40))
    if draw(st.booleans()):
        row = draw(st.integers(0, height - 1))
        entries += [((row, column), 1) for column in range(width)]
    rows = np.array([place[0] for place, _ in entries], np.int32)
    columns = np.array([place[1] for place, _ in entries], np.int32)
    values = np.array([value for _, value in entries], np.float32)
    return (height, width), values, rows, columns


def dense_of(rows: Rows):
    made = np.zeros(rows.shape, rows.values.dtype)
    made[rows.of_entries, rows.columns] = rows.values
    return made


@settings(max_examples=25, deadline=None)
@given(matrices())
def test_every_format_gives_the_entries_back(matrix):
    shape, values, down, across = matrix
    rows = of_triplets(shape, values, down, across)
    expected = np.zeros(shape, np.float32)
    np.add.at(expected, (down, across), values)
    assert np.array_equal(dense_of(rows), expected)
    assert rows.entries == np.count_nonzero(expected)
    for form in FORMS:
        again = rows_of(form, shape, laid_out(rows, form, block=3))
        for name in ("values", "columns", "offsets"):
            assert np.array_equal(getattr(again, name), getattr(rows, name)), (form, name)
    packed = rows_of_packets(packets_of(rows, 5))
    assert np.array_equal(dense_of(packed), expected)


def test_kernels_sort_as_numpy_does():
    generator = np.random.default_rng(0)
    for count in (50, 40_000):
        down, across = generator.integers(0, 300, (2, count), np.int32)
        values = generator.standard_normal(count, np.float32)
        mine = of_triplets((300, 300), values, down, across, SORTING)
        theirs = of_triplets((300, 300), values, down, across)
        for name in ("values", "columns", "offsets"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))


def test_storage_is_what_the_analysis_counts():
    rows = of_triplets(EXAMPLE.shape, EXAMPLE[EXAMPLE != 0], *np.nonzero(EXAMPLE))
    named = {
        "values": "data",
        "column_index": "col_index",
        "row_offsets": "row_ptr",
        "column_offsets": "col_ptr",
        "section_offsets": "col_ptr",
        "permutation": "row_perm",
    }
    for form in ("coo", "csr", "csc", "ell", "jds", "jds_t"):
        made, told = laid_out(rows, form), counted.storage(EXAMPLE.tolist(), form)
        for name, array in made.items():
            expected = [one or 0 for one in told[named.get(name, name)]]
            assert array.reshape(-1).tolist() == expected, (form, name)
        count = counted.storage_integers(form, *EXAMPLE.shape, rows.entries, rows.longest)
        assert sum(array.size for array in made.values()) == count


def test_structures_tell_bytes():
    problem = Spmv(3000, 2000, 20_000)
    values, columns, offsets, _ = problem.random(1)
    rows = SORTING.turned(SORTING.turned(Rows((3000, 2000), values, columns, offsets)))
    structure = structure_of(rows)
    for form in FORMS:
        made = laid_out(rows, form)
        assert sum(array.nbytes for array in made.values()) == stored_bytes(structure, form), form
        assert moved_bytes(structure, form) > stored_bytes(structure, form)


def test_rules_of_thumb():
    even = structure_of(Rows((4, 4), np.ones(8), np.arange(8) % 4, np.arange(0, 10, 2)))
    few = dataclasses.replace(even, entries=2)
    skewed = dataclasses.replace(even, diagonals=7, longest=3, deviation=9.0)
    triangle = dataclasses.replace(even, triangular=True, diagonals=4)
    told = [rule_of_thumb(of)[0] for of in (even, few, skewed, triangle)]
    assert told == ["ell", "coo", "hybrid", "jds"]


def test_families_have_the_arrays_that_they_name():
    for name, fields in families(64, 12, 30).items():
        problem = Spmv(**fields)
        for array, value in zip(problem.given_arrays, problem.random(0), strict=True):
            assert (value.shape, value.dtype) == (array.shape, array.numpy), (name, array)
