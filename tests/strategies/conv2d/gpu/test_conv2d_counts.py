"""Loads and stores of further `conv2d` rungs against counting what every thread does."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rooftile.strategies import strategy

from .conv_traces import Conv, problems, real

unhurried = settings(max_examples=25)


def forms(problem, name, **config):
    rung = strategy("conv2d", name, "cuda")
    assume(rung.why_not(problem) is None)
    values = rung.config(problem, config)
    return rung, values, rung.accesses(problem, values)


def tap_reads(problem, results):
    """Real inputs under every tap of the convolution outputs given as (row, column)."""
    conv = Conv(problem)
    corners = [conv.corner(*place) for place in results]
    reads = (
        conv.pixel(0, 0, i + p, j + q) for (i, j), (p, q) in itertools.product(corners, conv.mask)
    )
    return sum(1 for _ in real(reads)) * problem.batch * problem.channels


def windows(problem):
    conv = Conv(problem)
    return [
        (r * conv.step[0] + a, c * conv.step[1] + b)
        for r, c in itertools.product(range(conv.rows), range(conv.columns))
        for a, b in itertools.product(*map(range, conv.window))
    ]


@unhurried
@given(problems())
def test_im2col(problem):
    _, config, found = forms(problem, "im2col")
    read, taps = set(windows(problem)), problem.reduction - 1
    assert len(read) == math.prod(problem.conv_read)
    columns, results = len(read) * problem.batch, math.prod(problem.output_shape)
    assert found["im2col_unroll"].loads == pytest.approx(tap_reads(problem, read))
    assert found["im2col_unroll"].stores == columns * taps
    bands = -(-problem.maps // config["TILE_MAPS"])
    tiles = -(-columns // config["TILE_COLUMNS"])
    assert found["im2col_multiply"].loads == columns * taps * bands + problem.maps * taps * tiles
    assert found["im2col_multiply"].stores == columns * problem.maps
    assert found["im2col_finish"].loads == results * (math.prod(Conv(problem).window) + 1)
    assert found["im2col_finish"].stores == results


@unhurried
@given(problems())
def test_im2col_fused(problem):
    _, config, found = forms(problem, "im2col_fused")
    bands = -(-problem.maps // config["TILE_MAPS"])
    places = problem.batch * math.prod(problem.output_size)
    weights = problem.maps * (problem.reduction - 1) * -(-places // config["TILE_COLUMNS"])
    weights *= math.prod(Conv(problem).window)
    bias = bands * config["TILE_MAPS"] * places
    expected = tap_reads(problem, windows(problem)) * bands + weights + bias
    assert found["im2col_fused"].loads == pytest.approx(expected)
    assert found["im2col_fused"].stores == math.prod(problem.output_shape)


@unhurried
@given(problems())
def test_coarsened(problem):
    rung, config, found = forms(problem, "coarsened")
    tile, conv = rung.tile(problem, config), Conv(problem)
    (high, wide), maps = tile.loaded, config["THREAD_MAPS"]
    loads = 0
    for top, left in itertools.product(
        range(0, conv.rows, tile.results[0]), range(0, conv.columns, tile.results[1])
    ):
        i, j = conv.corner(top * conv.step[0], left * conv.step[1])
        cells = itertools.product(range(i, i + high), range(j, j + wide))
        loads += problem.channels * sum(1 for _ in real(conv.pixel(0, 0, *c) for c in cells))
        loads += problem.channels * maps * len(conv.mask)
        loads += maps * -(-tile.thread_count // 32) * 32
    groups = problem.batch * -(-problem.maps // maps)
    assert found["coarsened"].loads == pytest.approx(loads * groups)
    assert found["coarsened"].stores == math.prod(problem.output_shape)


@unhurried
@given(problems(), st.sampled_from((1, 2, 4)))
def test_channels_atomic(problem, width):
    _, _, found = forms(problem, "channels_atomic", SLICE_CHANNELS=width)
    read = set(windows(problem))
    sums = problem.batch * problem.maps * len(read)
    assert found["channels_atomic_clear"].stores == sums
    weights = sums * (problem.reduction - 1)
    expected = tap_reads(problem, read) * problem.maps + weights
    assert found["channels_atomic_accumulate"].loads == pytest.approx(expected)
    assert found["channels_atomic_accumulate"].atomics == sums * len(
        range(0, problem.channels, width)
    )
