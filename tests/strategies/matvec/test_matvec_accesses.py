"""Models of `matvec` rungs' accesses against what their threads do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies import strategy
from tests.support.traces import Trace

unhurried = settings(max_examples=15)
problems = st.builds(Matvec, st.integers(1, 150), st.integers(1, 90), st.booleans())


def model(problem, name, **given_values):
    rung = strategy("matvec", name, "cuda")
    config = rung.config(problem, given_values)
    return rung.accesses(problem, config)


def place(problem):
    rows, columns = problem.rows, problem.columns
    return lambda i, j: j * rows + i if problem.transpose else i * columns + j


def warps_of(count):
    return [range(first, min(first + 32, count)) for first in range(0, count, 32)]


@unhurried
@given(problem=problems, shared=st.booleans())
def test_a_thread_a_row(problem, shared):
    matrix, x, at = Trace(), Trace(), place(problem)
    for warp in warps_of(problem.rows):
        for j in range(problem.columns):
            matrix.load(at(i, j) for i in warp)
            if not shared:
                x.load([j] * len(warp))
        matrix.store(warp)
    if shared:
        for _ in range(0, problem.rows, 64):
            for run in warps_of(problem.columns):
                x.load(run)
    name = "shared_x" if shared else "row_threads"
    found = model(problem, name, BLOCK=64)[name]
    assert found.loads == pytest.approx(matrix.loads + x.loads)
    assert found.stores == matrix.stores
    if not shared:
        assert found.load_requests == pytest.approx(matrix.requests + x.requests)


@unhurried
@given(problem=problems)
def test_a_thread_a_column(problem):
    runs = 16
    trace, at = Trace(), place(problem)
    for first in range(min(runs, problem.rows)):
        for warp in warps_of(problem.columns):
            trace.load(warp)
            for i in range(first, problem.rows, runs):
                trace.load(at(i, j) for j in warp)
    found = model(problem, "column_threads", RUNS=runs)
    assert found["column_threads_clear"].stores == problem.rows
    assert found["column_threads"].loads == pytest.approx(trace.loads)
    assert found["column_threads"].load_requests == pytest.approx(trace.requests)
    assert found["column_threads"].atomics == problem.rows * problem.columns


@unhurried
@given(problem=problems)
def test_tiles_of_the_matrix(problem):
    found = model(problem, "two_dimensional", LANES=32, SEGMENT=128)["two_dimensional"]
    assert found.loads == pytest.approx(2 * problem.rows * problem.columns)
    assert found.atomics == problem.rows * -(-problem.columns // 128)


@pytest.mark.parametrize("transposed", [False, True])
def test_sectors_where_warps_are_full(transposed):
    problem, trace = Matvec(64, 32, transposed), Trace()
    at = place(problem)
    for warp in warps_of(problem.rows):
        for j in range(problem.columns):
            trace.load(at(i, j) for i in warp)
            trace.load([j] * 32)
    assert model(problem, "row_threads")["row_threads"].load_sectors == trace.sectors


def test_the_matrix_passes_once():
    for name, problem in (
        ("warp_rows", Matvec(64, 4096)),
        ("strips", Matvec(4096, 512, True)),
    ):
        found = model(problem, name)
        of_x = 4096 * 64 if name == "warp_rows" else 512 * 32
        (first, *_) = found.values()
        assert first.loads == 4096 * problem.rows * problem.columns / 4096 + of_x, name
        assert first.load_sectors == pytest.approx(first.loads / 8)
    assert set(model(Matvec(512, 16384, True), "strips", PARTS=4)) == {
        "strips_strips",
        "strips_finish",
    }
    finish = model(Matvec(512, 16384, True), "strips", PARTS=4)["strips_finish"]
    assert (finish.loads, finish.stores) == (4 * 512, 512)
