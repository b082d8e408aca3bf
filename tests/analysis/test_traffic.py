"""Loads and reuse of tiles against counting every access."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis import traffic
from rooftile.errors import InputError

dimensions = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 6)), min_size=1, max_size=3)


def _accesses(tile, mask, first=0):
    """Input index, relative to the first output's, of every read of the tile's sums."""
    before = [(m - 1) // 2 for m in mask]
    for out in itertools.product(*map(range, tile)):
        for tap in itertools.product(*map(range, mask)):
            yield tuple(o + t - b for o, t, b in zip(out, tap, before, strict=True))


@given(dimensions)
def test_internal_tiles(axes):
    tile, mask = zip(*axes, strict=True)
    reads = list(_accesses(tile, mask))
    assert math.prod(traffic.input_tile(tile, mask)) == len(set(reads))
    assert traffic.conv_reuse(tile, mask) == pytest.approx(len(reads) / len(set(reads)))
    assert traffic.loads_per_output(tile, mask) == len(set(reads)) / math.prod(tile)
    whole = traffic.input_tile(tile, mask)
    assert traffic.conv_reuse_input_block(whole, mask) == traffic.conv_reuse(tile, mask)
    assert traffic.conv_reuse(tile, mask) <= traffic.conv_reuse_limit(mask)


@given(dimensions)
def test_tiles_with_the_core_alone(axes):
    tile, mask = zip(*axes, strict=True)
    core = set(itertools.product(*map(range, tile)))
    reads = list(_accesses(tile, mask))
    found = traffic.conv_core(tile, mask)
    assert found.shared_accesses == sum(read in core for read in reads)
    assert found.halo_accesses == sum(read not in core for read in reads)
    assert found.global_loads == len(core) + found.halo_accesses


@given(dimensions, st.integers(1, 12))
def test_the_first_tile_of_a_padded_array(axes, n):
    tile, mask = zip(*axes, strict=True)
    made = [min(t, n) for t in tile]
    reads = [read for read in _accesses(made, mask) if all(0 <= i < n for i in read)]
    found = traffic.conv_first_tile(tile, mask, [n] * len(tile))
    assert (found.accesses, found.loads) == (len(reads), len(set(reads)))


@given(st.integers(1, 12), st.integers(1, 6))
def test_stages_of_a_load(out, mask):
    side = out + mask - 1
    linear, shifted = traffic.load_stages([side, side], [mask, mask])
    cells = set(itertools.product(range(side), range(side)))
    copies = 0
    for down, across in itertools.product(range(0, side, out), range(0, side, out)):
        cells -= {(down + i, across + j) for i in range(out) for j in range(out)}
        copies += 1
    assert not cells
    assert (linear, shifted) == (math.ceil(side * side / (out * out)), copies)


@given(*[st.integers(1, 12)] * 5)
def test_tiles_of_a_product(m, k, n, rows, columns):
    loads = {"m": 0, "n": 0}
    for top, left in itertools.product(range(0, m, rows), range(0, n, columns)):
        loads["m"] += (min(top + rows, m) - top) * k
        loads["n"] += (min(left + columns, n) - left) * k
    found = traffic.matmul_tile(m, k, n, rows, columns)
    assert (found.m_loads, found.n_loads) == (loads["m"], loads["n"])
    assert found.m_reuse <= columns
    assert found.n_reuse <= rows
    assert found.m_reuse * found.m_loads == pytest.approx(m * k * n)


def test_whole_tiles_are_used_as_often_as_they_are_wide():
    found = traffic.matmul_tile(128, 64, 256, 16, 32)
    assert (found.m_reuse, found.n_reuse) == (32, 16)
    assert found.loads == 128 * 64 * 8 + 64 * 256 * 8
    assert traffic.rectangular_reuse([16, 64], [64, 32]) == (16, 32)


def test_bad_input():
    with pytest.raises(InputError, match="in_tile"):
        traffic.load_stages([3, 8], [5, 5])
    with pytest.raises(InputError, match="in_tile"):
        traffic.conv_reuse_input_block([4], [5])
    with pytest.raises(InputError, match="out_tile"):
        traffic.conv_reuse([0, 4], [3, 3])
    with pytest.raises(InputError, match="mask"):
        traffic.conv_reuse([4, 4], [3])
    with pytest.raises(InputError, match="n_tile"):
        traffic.rectangular_reuse([16, 32], [64, 16])
