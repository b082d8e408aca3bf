"""Models of `matmul` rungs' accesses against what their threads do."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import strategy
from tests.support.traces import Trace, blocks, warps

unhurried = settings(max_examples=20)
problems = st.builds(
    Matmul, st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.booleans()
)


def model(problem, name, **given_values):
    rung = strategy("matmul", name, "cuda")
    config = rung.config(problem, given_values)
    return config, rung.accesses(problem, config)[rung.kernel()]


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


@pytest.mark.parametrize(
    ("transpose_a", "transpose_b"), [(True, False), (False, True), (True, True)]
)
@pytest.mark.parametrize(("size", "exactly"), [((64, 32, 96), True), ((33, 17, 40), False)])
def test_turned_corners(transpose_a, transpose_b, size, exactly):
    problem, tile = Matmul(*size, transpose_a, transpose_b), 16
    trace, (in_a, in_b), (rows, inner, columns) = Trace(), places(problem), size
    for (i0, j0), warp in itertools.product(blocks(rows, columns, tile, tile), warps(tile, tile)):
        for k0 in range(0, inner, tile):
            turned = [lane[::-1] if transpose_a else lane for lane in warp]
            left = [(i0 + y, k0 + x) for x, y in turned]
            trace.load(in_a(i, k) for i, k in left if i < rows and k < inner)
            turned = [lane[::-1] if transpose_b else lane for lane in warp]
            right = [(k0 + y, j0 + x) for x, y in turned]
            trace.load(in_b(k, j) for k, j in right if k < inner and j < columns)
    _, found = model(problem, "corner_turned", TILE=tile)
    assert found.loads == pytest.approx(trace.loads)
    if exactly:
        assert found.load_sectors == pytest.approx(trace.sectors)
        assert found.load_requests == pytest.approx(trace.requests)


def coarse(problem, tile, depth, threads):
    """Blocks of ``threads`` (across, down) that bring tiles as deep as ``depth`` and make ``tile``
    (rows, columns) of results."""
    trace, (in_a, in_b) = Trace(), places(problem)
    (across, down), (rows, columns) = threads, tile
    inside = (
        lambda i, k: i < problem.rows and k < problem.inner,
        lambda k, j: k < problem.inner and j < problem.columns,
    )
    corners = blocks(problem.rows, problem.columns, rows, columns)
    for (i0, j0), warp in itertools.product(corners, warps(across, down)):
        for k0 in range(0, problem.inner, depth):
            for apart in range(0, rows, down):
                here = [(i0 + apart + y, k0 + x) for x, y in warp if x < depth]
                trace.load(in_a(*at) for at in here if inside[0](*at))
            for apart in range(0, columns, across):
                here = [(k0 + y, j0 + apart + x) for x, y in warp if y < depth]
                trace.load(in_b(*at) for at in here if inside[1](*at))
        for apart, beside in itertools.product(range(0, rows, down), range(0, columns, across)):
            made = [(i0 + apart + y, j0 + beside + x) for x, y in warp]
            trace.store(
                i * problem.columns + j for i, j in made if i < problem.rows and j < problem.columns
            )
    return trace


COARSE = {
    "rectangular": ({"TILE_ROWS": 8, "TILE_COLUMNS": 32}, (8, 32), 8, (32, 8)),
    "coarsened": ({"TILE": 8, "STRIP": 4}, (8, 32), 8, (8, 8)),
    "two_by_two": ({"HALF": 8}, (16, 16), 8, (8, 8)),
}


@pytest.mark.parametrize("name", COARSE)
@unhurried
@given(problem=problems)
def test_coarse_tiles(name, problem):
    config, *sizes = COARSE[name]
    trace = coarse(problem, *sizes)
    _, found = model(problem, name, **config)
    assert found.loads == pytest.approx(trace.loads)
    assert found.stores == trace.stores


@pytest.mark.parametrize("name", COARSE)
@pytest.mark.parametrize("transposed", [(False, False), (True, True)])
def test_sectors_of_coarse_tiles_that_fit(name, transposed):
    problem = Matmul(64, 32, 64, *transposed)
    config, *sizes = COARSE[name]
    trace = coarse(problem, *sizes)
    _, found = model(problem, name, **config)
    assert found.load_sectors == pytest.approx(trace.sectors)
    assert found.store_sectors == pytest.approx(trace.store_sectors)


@unhurried
@given(problem=problems)
def test_strips(problem):
    tile, (in_a, in_b), trace = 8, places(problem), Trace()
    for i0, j0 in blocks(problem.rows, problem.columns, tile, tile):
        for k in range(problem.inner):
            trace.load(in_a(i0 + x, k) for x in range(tile) if i0 + x < problem.rows)
            trace.load(in_b(k, j0 + x) for x in range(tile) if j0 + x < problem.columns)
        for warp in warps(tile, tile):
            trace.store(
                (i0 + y) * problem.columns + j0 + x
                for x, y in warp
                if i0 + y < problem.rows and j0 + x < problem.columns
            )
    _, found = model(problem, "strips", TILE=tile)
    assert found.loads == pytest.approx(trace.loads)
    assert found.load_requests == pytest.approx(trace.requests)
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


@unhurried
@given(problem=problems)
def test_tiles_of_all_warps(problem):
    config, found = model(problem, "warps_terms")
    across, down = -(-problem.columns // 16), -(-problem.rows // 32)
    loads = (problem.rows * across + problem.columns * down) * problem.inner
    assert found.loads == pytest.approx(loads)
    assert found.stores == problem.rows * problem.columns
    # Forty terms at most: each of the warps reads sixteen terms twice, and all their sums are read.
    assert found.shared_reads == down * across * config["WARPS"] * (2 * 16 + 16)
