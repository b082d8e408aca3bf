"""Models of `grayscale` rungs' accesses against what their threads do."""

from __future__ import annotations

import itertools

import pytest

from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.strategies import strategy
from tests.support.traces import Trace, blocks, warps


def model(problem, name):
    rung = strategy("grayscale", name, "cuda")
    (found,) = rung.accesses(problem, rung.config(problem)).values()
    return found


@pytest.mark.parametrize(("height", "width"), [(16, 64), (5, 101)])
def test_a_thread_a_pixel(height, width):
    trace = Trace(1)
    for (row, column), warp in itertools.product(blocks(height, width, 8, 32), warps(32, 8)):
        inside = [
            (row + y) * width + column + x
            for x, y in warp
            if row + y < height and column + x < width
        ]
        for colour in range(3):
            trace.load(3 * i + colour for i in inside)
        trace.store(inside)
    found = model(Grayscale(height, width), "naive")
    assert (found.loads, found.stores) == (trace.loads, trace.stores)
    assert found.load_requests == trace.requests
    assert found.load_sectors == pytest.approx(trace.sectors, rel=0.1)
    assert found.store_sectors == pytest.approx(trace.store_sectors, rel=0.1)


def test_vectors_move_each_byte_once():
    found = model(Grayscale(64, 64), "vectors")
    assert found.load_sectors == 3 * 64 * 64 / 32
    assert found.store_sectors == 64 * 64 / 32
    assert found.shared_reads == 64 * 64 / 16 / 32 * 12
