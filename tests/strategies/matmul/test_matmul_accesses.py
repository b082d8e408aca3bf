"""Models of `matmul` rungs' accesses against what their threads do."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from traces import Trace, blocks, warps

from rooftile.ops.matmul import Matmul
from rooftile.strategies import strategy

unhurried = settings(max_examples=20)
problems = st.builds(
    Matmul, st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans()
)


def model(problem, name, **given_values):
    rung = strategy("matmul", name, "cuda")
    config = rung.config(problem, given_values)
    return config, rung.accesses(problem, config)["matmul"]


def places(problem):
    """Where an element of a, and of b, lies."""
    rows, inner, columns = problem.rows, problem.inner, problem.columns

    def in_a(i, k):
        return k * rows + i if problem.transpose_a else i * inner + k

    def in_b(k, j):
        return j * inner + k if problem.transpose_b else k * columns + j

    return in_a, in_b


def naive(problem, config, along_rows):
    trace, (in_a, in_b) = Trace(), places(problem)
    x, y = config["BLOCK_X"], config["BLOCK_Y"]
    length, lines = problem.rows, problem.columns
    if not along_rows:
        length, lines = lines, length
    for (y0, x0), warp in itertools.product(blocks(lines, length, y, x), warps(x, y)):
        lanes = [(x0 + i, y0 + j) for i, j in warp if x0 + i < length and y0 + j < lines]
        lanes = [lane if along_rows else lane[::-1] for lane in lanes]
        for k in range(problem.inner):
            trace.load(in_a(i, k) for i, _ in lanes)
            trace.load(in_b(k, j) for _, j in lanes)
        trace.store(i * problem.columns + j for i, j in lanes)
    return trace


@unhurried
@given(problem=problems, along_rows=st.booleans())
def test_naive(problem, along_rows):
    config, found = model(problem, "naive_transposed" if along_rows else "naive", BLOCK_X=32)
    trace = naive(problem, config, along_rows)
    assert found.loads == pytest.approx(trace.loads)
    assert found.stores == trace.stores


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_sectors_of_naive_where_warps_are_full(transpose_a, transpose_b):
    problem = Matmul(64, 8, 64, transpose_a, transpose_b)
    for name in ("naive", "naive_transposed"):
        config, found = model(problem, name, BLOCK_X=32)
        trace = naive(problem, config, name != "naive")
        assert found.load_sectors == pytest.approx(trace.sectors)
        assert found.load_requests == pytest.approx(trace.requests)
        assert found.store_sectors == pytest.approx(trace.store_sectors)


@unhurried
@example(problem=Matmul(32, 16, 48, False, True), tile=16)
@given(problem=problems, tile=st.sampled_from((8, 16, 32)))
def test_tiles(problem, tile):
    trace, (in_a, in_b) = Trace(), places(problem)
    rows, inner, columns = problem.rows, problem.inner, problem.columns
    for (i0, j0), warp in itertools.product(blocks(rows, columns, tile, tile), warps(tile, tile)):
        for k0 in range(0, inner, tile):
            trace.load(in_a(i0 + y, k0 + x) for x, y in warp if i0 + y < rows and k0 + x < inner)
            trace.load(in_b(k0 + y, j0 + x) for x, y in warp if k0 + y < inner and j0 + x < columns)
        trace.store(
            (i0 + y) * columns + j0 + x for x, y in warp if i0 + y < rows and j0 + x < columns
        )
    names = (
        ["tiled_any"] if rows % tile or inner % tile or columns % tile else ["tiled_any", "tiled"]
    )
    for name in names:
        _, found = model(problem, name, TILE=tile)
        assert found.loads == pytest.approx(trace.loads)
        assert found.stores == trace.stores


@unhurried
@given(problem=problems)
def test_register_tiles(problem):
    config, found = model(problem, "register_tile")
    across = -(-problem.columns // config["TILE_C"])
    down = -(-problem.rows // config["TILE_R"])
    loads = (problem.rows * across + problem.columns * down) * problem.inner
    assert found.loads == pytest.approx(loads)
    assert found.stores == problem.rows * problem.columns
