"""Models of `linear` rungs' accesses against what their threads do."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.ops import Linear
from rooftile.strategies import strategy
from tests.support.traces import Trace, blocks, warps

unhurried = settings(max_examples=25)


def model(problem, name, **given_values):
    rung = strategy("linear", name, "cuda")
    config = rung.config(problem, given_values)
    return config, rung.accesses(problem, config)[rung.kernel()]


def tiled(problem, config):
    trace, tile, inputs = Trace(), config["TILE"], problem.inputs
    for n0, o0 in blocks(problem.batch, problem.outputs, tile, tile):
        block = warps(tile, tile)
        for start, warp in itertools.product(range(0, inputs, tile), block):
            trace.load((n0 + y) * inputs + start + x for x, y in warp
                       if n0 + y < problem.batch and start + x < inputs)  # fmt: skip
            trace.load((o0 + y) * inputs + start + x for x, y in warp
                       if o0 + y < problem.outputs and start + x < inputs)  # fmt: skip
        for warp in block:
            lanes = [(n0 + y, o0 + x) for x, y in warp
                     if n0 + y < problem.batch and o0 + x < problem.outputs]  # fmt: skip
            trace.load(o for _, o in lanes)
            trace.store(n * problem.outputs + o for n, o in lanes)
    return trace


@unhurried
@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 40), st.sampled_from((8, 16, 32)))
def test_tiles(batch, inputs, outputs, tile):
    problem = Linear(batch, inputs, outputs)
    config, found = model(problem, "tiled", TILE=tile)
    trace = tiled(problem, config)
    assert found.stores == trace.stores
    assert found.loads == trace.loads


@unhurried
@given(st.integers(1, 40), st.integers(8, 90), st.integers(32, 70))
def test_loads_and_stores_are_those_of_the_threads(batch, inputs, outputs):
    problem = Linear(batch, inputs, outputs)
    results = batch * outputs
    _, found = model(problem, "naive")
    assert found.loads == pytest.approx(2 * results * inputs + results)
    assert found.stores == results
    config, found = model(problem, "register_tile", PARTS=1)
    down = len(range(0, batch, config["TILE_B"]))
    across = len(range(0, outputs, config["TILE_O"]))
    loads = (across * batch + down * outputs) * inputs
    assert found.loads == pytest.approx(loads + results)
    config, found = model(problem, "warp_rows")
    groups, rows = -(-batch // config["IMAGES"]), -(-outputs // config["ROWS"]) * config["ROWS"]
    walked = rows * groups * inputs * (1 + config["IMAGES"])
    bias = results / config["IMAGES"] * 32
    assert found.loads == pytest.approx(walked + bias)
