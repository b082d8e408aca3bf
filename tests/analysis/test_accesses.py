"""Loads and stores in closed form against warps whose lanes' addresses are written out."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis.access import run_sectors, touched_sectors
from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    linear_stores,
    row_loads,
    row_stores,
    scattered_loads,
    vector_loads,
)

strides = st.sampled_from((1, 2, 3, 4, 8, 11))


@given(st.integers(1, 100), strides, st.sampled_from((8, 16, 32)), st.sampled_from((1, 2, 4, 8)))
def test_rows_begin_anywhere_within_a_sector(length, stride, lanes, alignment):
    found = row_loads(length, 5, stride=stride, lanes=lanes, alignment=alignment)
    assert found.loads == 5 * length
    starts = range(0, SECTOR_FLOATS, alignment)
    sectors = [
        touched_sectors(4 * (start + stride * lane) for lane in range(first, last))
        for start in starts
        for first in range(0, length, lanes)
        for last in (min(first + lanes, length),)
    ]
    # A whole run's start is drawn for itself; only rows of one run fix it.
    if length <= lanes:
        assert found.load_sectors == pytest.approx(5 * sum(sectors) / len(starts))
    assert found.load_requests == 5 * math.ceil(length / lanes) * lanes / WARP


@given(st.integers(1, 6), st.sampled_from((3, 8, 20, 32, 40, 64)), strides)
def test_linear_loads_cut_rows_at_warps(times, row, stride):
    elements = times * math.lcm(row, WARP)
    cuts = sorted({*range(0, elements, row), *range(0, elements, WARP), elements})
    sectors = sum(run_sectors(b - a, stride) for a, b in itertools.pairwise(cuts))
    found = linear_loads(elements, row, stride=stride)
    assert found.load_sectors == pytest.approx(sectors)
    assert (found.loads, found.load_requests) == (elements, elements / WARP)
    half = linear_loads(elements, row, stride=stride, share=0.5)
    assert (half.loads, half.load_sectors) == (elements / 2, pytest.approx(sectors / 2))


@given(st.integers(1, 100), st.integers(1, 9))
def test_stores_follow_each_other(length, count):
    assert linear_stores(length).store_sectors == touched_sectors(4 * i for i in range(length))
    found = row_stores(length, count, lanes=WARP)
    assert (found.stores, found.loads) == (count * length, 0)
    if length % SECTOR_FLOATS == 0:
        assert found.store_sectors == count * length / SECTOR_FLOATS


def test_what_a_request_touches():
    assert broadcasts(7) == Accesses(loads=7 * WARP, load_requests=7, load_sectors=7)
    assert scattered_loads(64) == Accesses(loads=64, load_requests=2, load_sectors=64)
    # A warp's vectors of four are 128 neighbours: 16 sectors in one request.
    assert vector_loads(WARP) == Accesses(loads=128, load_requests=1, load_sectors=16)


@given(st.integers(-9, 9), st.integers(0, 9), st.integers(1, 9))
def test_inside_is_counting(first, count, size):
    assert inside(first, count, size) == sum(0 <= first + i < size for i in range(count))


def test_passes_are_those_of_the_busier_of_requests_and_sectors():
    few = broadcasts(10)
    assert few.cache_passes == 10
    assert (few + scattered_loads(320)).cache_passes == (10 + 320) / 4
    assert (few + Accesses(shared_reads=6)).cache_passes == 16
