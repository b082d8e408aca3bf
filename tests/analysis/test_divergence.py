"""Closed forms of divergence against asking every thread."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rooftile.analysis import divergence as d
from rooftile.analysis.launch import Grid, covering
from rooftile.errors import InputError

warps = st.sampled_from((4, 8, 32))
side = st.integers(1, 40)
"""More than a warp of 32, and no multiple of one."""
block_side = st.integers(1, 12)
unhurried = settings(max_examples=30)
"""Asking every thread takes its time."""


@unhurried
@given(side, side, block_side, block_side, warps)
def test_guard_2d(width, height, bx, by, warp):
    grid = covering((width, height), (bx, by))

    def guard(block, thread):
        return block[0] * bx + thread[0] < width and block[1] * by + thread[1] < height

    found = d.simulate(grid, guard, warp)
    assert d.guard_2d(width, height, bx, by, warp) == len(found)
    blocks = [b for b, _ in found]
    counts = [blocks.count(b) for b in range(grid.block_count)]
    values = d.block_values(width, height, bx, by, warp)
    assert values == {v: counts.count(v) for v in counts}


@unhurried
@given(st.integers(1, 500), st.integers(1, 4), st.integers(1, 70), warps)
def test_guard_1d(n, per_thread, threads, warp):
    grid = covering((n,), (threads,), (per_thread,))
    found = [
        (block, w, section + 1)
        for section in range(per_thread)
        for block, w in d.simulate(
            grid, lambda b, t, s=section: (b[0] * per_thread + s) * threads + t[0] < n, warp
        )
    ]
    assert d.guard_1d(n, per_thread, threads, warp) == found


@unhurried
@given(st.integers(1, 500), st.integers(1, 4), st.integers(1, 70), warps)
def test_grid_stride(n, blocks, threads, warp):
    step = blocks * threads
    grid = Grid((blocks,), (threads,))
    found = [
        (block, w, start // step + 1)
        for start in range(0, n, step)
        for block, w in d.simulate(grid, lambda b, t, s=start: s + b[0] * threads + t[0] < n, warp)
    ]
    assert d.grid_stride(n, blocks, threads, warp) == found


def _activity(threads, active, warp):
    """Counted thread by thread."""
    flags = [active(t) for t in range(threads)]
    groups = [flags[first : first + warp] for first in range(0, threads, warp)]
    mixed = frozenset(w for w, group in enumerate(groups) if any(group) and not all(group))
    return d.Activity(sum(flags), sum(map(any, groups)), mixed)


@unhurried
@given(st.integers(1, 300), st.integers(1, 300), warps)
def test_reduction_steps(threads, stride, warp):
    rules = {
        "interleaved": lambda t: t % stride == 0,
        "sequential": lambda t: t < stride,
        "compacted": lambda t: t < threads // stride,
    }
    for mapping, active in rules.items():
        found = d.reduction_step(threads, stride, mapping, warp)
        assert found == _activity(threads, active, warp)


@unhurried
@given(st.integers(1, 300), st.integers(1, 300), warps)
def test_scan_steps(n, stride, warp):
    found = d.scan_step("kogge_stone", n, stride, warp)
    assert found == _activity(n, lambda t: t >= stride, warp)
    found = d.scan_step("brent_kung", n, stride, warp)
    assert found == _activity((n + 1) // 2, lambda t: (t + 1) * 2 * stride - 1 < n, warp)


@unhurried
@given(side, st.integers(1, 10), warps)
def test_matmul_load(width, tile, warp):
    grid = covering((width, width), (tile, tile))
    diverging = set()
    for start in range(0, width, tile):
        diverging |= set(
            d.simulate(
                grid,
                lambda b, t, s=start: b[1] * tile + t[1] < width and s + t[0] < width,
                warp,
            )
        )
    blocks = [block for block, _ in diverging]
    assert d.matmul_load(width, tile, warp) == max(map(blocks.count, blocks), default=0)


@unhurried
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.integers(1, 5), warps)
def test_matmul_load_2x2(rows, inner, columns, block, warp):
    tile = 2 * block
    grid = Grid((-(-columns // tile), -(-rows // tile)), (block, block))
    diverging = set()
    for start, i, j in itertools.product(range(0, inner, tile), (0, 1), (0, 1)):

        def test(b, t, start=start, i=i, j=j):
            row, column = b[1] * tile + 2 * t[1] + i, start + 2 * t[0] + j
            return row < rows and column < inner

        diverging |= set(d.simulate(grid, test, warp))
    assert d.matmul_load_2x2(rows, inner, columns, tile, block, warp) == len(diverging)


@unhurried
@given(st.integers(1, 50), st.integers(1, 12), warps)
def test_matmul_strip(width, tile, warp):
    grid = covering((width, width), (tile, tile))

    def in_width(axis, b, t):
        return b[axis] * tile + t[axis] < width

    def differing(taking, test):
        """Warps whose threads among those that arrive disagree."""
        found = set()
        for number, b in enumerate(grid.block_indices()):
            threads = list(grid.thread_indices())
            for w, first in enumerate(range(0, len(threads), warp)):
                here = [t for t in threads[first : first + warp] if taking(t)]
                if len({test(b, t) for t in here}) == 2:
                    found.add((number, w))
        return found

    def first_row(t):
        return t[1] == 0

    found = differing(lambda t: True, lambda b, t: first_row(t))
    found |= differing(first_row, lambda b, t: b[1] * tile + t[0] < width)
    found |= differing(first_row, lambda b, t: in_width(0, b, t))
    found |= differing(lambda t: True, lambda b, t: in_width(0, b, t) and in_width(1, b, t))
    assert d.matmul_strip(width, tile, warp) == len(found)


@unhurried
@given(st.integers(1, 20), st.integers(1, 9), warps)
def test_convolution_blocks(out, mask, warp):
    side = out + mask - 1
    grid = Grid((1, 1), (side, side))
    found = d.simulate(grid, lambda _, t: t[0] < out and t[1] < out, warp)
    assert d.conv_input_block(out, mask, warp) == len(found)

    threads, cells = out * out, side * side
    line, diverging = Grid((1,), (threads,)), set()
    for start in range(0, cells, threads):
        diverging |= set(d.simulate(line, lambda _, t, s=start: s + t[0] < cells, warp))
    assert d.conv_linear_load(side, mask, warp) == len(diverging)


@unhurried
@given(st.integers(0, 6), st.sampled_from(("interleaved", "sequential", "compacted")), warps)
def test_passes_of_a_reduction(log, mapping, warp):
    threads = 2**log
    passes, diverging = d.reduction_passes(threads, mapping, warp)
    assert passes == log + 1
    assume(mapping != "interleaved")
    assert diverging == sum(2**k % warp != 0 and 2**k < min(threads, warp) for k in range(log + 1))


def test_bad_input():
    with pytest.raises(InputError, match="in_tile"):
        d.conv_linear_load(4, 5)
    with pytest.raises(InputError, match="block_x"):
        d.guard_2d(10, 10, 0, 4)
    with pytest.raises(InputError, match="tile"):
        d.matmul_load_2x2(10, 10, 10, 8, 8)
    with pytest.raises(InputError, match="mapping"):
        d.reduction_step(64, 2, "striped")
    with pytest.raises(InputError, match="algorithm"):
        d.scan_step("sklansky", 64, 2)
