"""Models of `box_blur` rungs' accesses against what their threads do."""

from __future__ import annotations

import itertools
import math

import pytest

from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies import strategy
from tests.support.traces import Trace, blocks, warps

PROBLEMS = [BoxBlur(20, 70, 2), BoxBlur(9, 13, 1, 3)]


def model(problem, name, **given):
    rung = strategy("box_blur", name, "cuda")
    config = rung.config(problem, given)
    (found,) = rung.accesses(problem, config).values()
    return found, config, rung.steps(problem, config)[0].launch


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_load_for_each_byte_of_each_window(problem):
    trace, columns, radius = Trace(1), problem.columns, problem.radius
    corners = blocks(problem.height, columns, 8, 32)
    reach = range(-radius, radius + 1)
    for (row, first), warp in itertools.product(corners, warps(32, 8)):
        made = [
            (row + y, first + x)
            for x, y in warp
            if row + y < problem.height and first + x < columns
        ]
        for down, across in itertools.product(reach, reach):
            near = [(i + down, at + across * problem.channels) for i, at in made]
            trace.load(
                i * columns + at for i, at in near if 0 <= i < problem.height and 0 <= at < columns
            )
        trace.store(i * columns + at for i, at in made)
    found, *_ = model(problem, "naive", ACROSS=32, DOWN=8)
    assert (found.loads, found.stores) == (trace.loads, trace.stores)
    assert found.load_sectors == pytest.approx(trace.sectors, rel=0.15)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_tiles_are_loaded_with_their_halo(problem):
    trace, columns = Trace(1), problem.columns
    halo = problem.radius * problem.channels
    for row, first in blocks(problem.height, columns, 8, 32):
        for i in range(row - problem.radius, row + 8 + problem.radius):
            for run in range(first - halo, first + 32 + halo, 32):
                end = min(run + 32, first + 32 + halo)
                if 0 <= i < problem.height:
                    trace.load(i * columns + at for at in range(run, end) if 0 <= at < columns)
    found, *_ = model(problem, "tiled", ACROSS=32, DOWN=8)
    assert found.loads == trace.loads
    assert found.load_sectors == pytest.approx(trace.sectors, rel=0.25)


def test_spans_count_a_row_that_enters_and_one_that_leaves():
    problem = BoxBlur(256, 512, 5)
    found, config, launch = model(problem, "packed", SPAN=32, ROWS=32)
    threads = math.prod(launch.grid) * config["THREADS"]
    rows = 2 * problem.radius + 1 + 2 * config["ROWS"]
    assert found.loads == threads * rows * (32 + 2 * 8)
    assert found.load_sectors == threads * rows * (2 + 2)
    assert found.store_sectors == 256 * 512 / 32
    found, config, launch = model(problem, "running", ROWS=32)
    threads = math.prod(launch.grid) * config["THREADS"]
    # Both bands: what was above the first window, the window, and two rows for each of the results.
    rows = 2 * (1 + (2 * problem.radius + 1) + 2 * config["ROWS"])
    assert found.loads == threads * rows * 8
    assert found.load_sectors == found.loads / 32
    assert found.shared_reads == threads / 32 * 32 * (2 * 8 + 8) / 4 * 4


def test_strips_of_a_warp_read_a_piece_on_either_side():
    problem = BoxBlur(256, 512, 5)
    found, *_ = model(problem, "mma", TILES=8, ROWS=64)
    rows = 256 + 4 * 16
    assert found.loads == rows * 4 * (128 + 2 * 16)
    assert found.store_sectors == 256 * 512 / 32
