"""Grids that cover, and where in them a thread is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis.launch import Grid, covering, linear_index, variable_copies, warp_and_lane
from rooftile.errors import InputError

sizes = st.integers(1, 12)


@given(st.lists(st.tuples(st.integers(1, 200), sizes, sizes), min_size=1, max_size=3))
def test_a_covering_grid_is_the_smallest(axes):
    size, block, coarsen = zip(*axes, strict=True)
    grid = covering(size, block, coarsen)
    for n, b, c, blocks in zip(size, block, coarsen, grid.blocks, strict=True):
        assert (blocks - 1) * b * c < n <= blocks * b * c


@given(st.lists(sizes, min_size=1, max_size=3), st.integers(1, 40))
def test_threads_are_numbered_x_first(block, warp):
    grid = Grid((2,) * len(block), tuple(block))
    indices = list(grid.thread_indices())
    assert len(set(indices)) == grid.block_threads
    assert [linear_index(i, block) for i in indices] == list(range(grid.block_threads))
    places = [warp_and_lane(i, block, warp) for i in indices]
    assert places == sorted(places)
    assert len({w for w, _ in places}) == grid.block_warps(warp)
    warps = {
        (b, w) for b, (w, _) in itertools.product(grid.block_indices(), places)
    }  # fmt: skip
    assert len(warps) == grid.warps(warp)


def test_copies_of_a_variable():
    grid = Grid((10, 2), (8, 4))
    assert [variable_copies(grid, s) for s in ("register", "shared", "constant")] == [640, 20, 1]
    with pytest.raises(InputError, match="scope"):
        variable_copies(grid, "texture")


@pytest.mark.parametrize("block", [(0,), (-1,), (2.5,)])
def test_blocks_have_threads(block):
    with pytest.raises(InputError, match="block"):
        covering((10,), block)


def test_sizes_and_blocks_have_as_many_dimensions():
    with pytest.raises(InputError, match="block"):
        covering((10, 10), (4,))
    with pytest.raises(InputError, match="index"):
        linear_index((4, 0), (4, 4))
