"""Models of `conv2d` rungs' accesses against traces of their threads.

Loads and stores are exact.  Sectors are means over where rows begin within sectors, so those of
one problem, whose rows are not multiples of a sector, differ a little.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.traces import exact

from .conv_traces import adjacent, channels_tree, naive, problems, tiled

unhurried = settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
LARGE = (
    Conv2d(1, 1, 62, 86, 1, (5, 5), pool=Pool.of("max", 2)),
    Conv2d(1, 1, 70, 61, 1, (5, 5), padding=(2, 2)),
    Conv2d(1, 2, 64, 67, 1, (3, 3), stride=(2, 2)),
)


def conv(name, problem, **given_values):
    rung = strategy("conv2d", name, "cuda")
    config = rung.config(problem, given_values)
    return rung, config, rung.accesses(problem, config)[rung.kernel()]


def close(found, trace, most=0.1):
    exact(found, trace)
    assert found.load_sectors == pytest.approx(trace.sectors, rel=most)
    assert found.store_sectors == pytest.approx(trace.store_sectors, rel=most)


def traced(name, problem, **values):
    rung, config, found = conv(name, problem, **values)
    if name in ("naive", "restrict_unroll", "constant", "naive_transposed"):
        along_rows = name == "naive_transposed"
        return found, naive(problem, config, weights=name != "constant", along_rows=along_rows)
    if name == "channels_tree":
        return found, channels_tree(problem, config)
    centre = ((problem.mask[0] - 1) // 2, (problem.mask[1] - 1) // 2)
    core = name == "tile_core"
    tile = rung.tile(problem, config)
    if name == "tile_adjacent":
        return found, adjacent(problem, tile)
    weights = name != "tile_constant"
    return found, tiled(
        problem, tile, centre=centre if core else (0, 0), core=core, weights=weights
    )


NAMES = (
    "naive", "naive_transposed", "constant", "channels_tree", "tile_output", "tile_input",
    "tile_core", "tile_constant", "tile_adjacent",
)  # fmt: skip


@unhurried
@given(problems(), st.sampled_from(NAMES))
def test_loads_and_stores_are_those_of_the_threads(problem, name):
    assume(strategy("conv2d", name, "cuda").why_not(problem) is None)
    exact(*traced(name, problem))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("problem", LARGE, ids=("pooled", "padded", "strided"))
def test_sectors_are_near_those_of_the_threads(problem, name):
    close(*traced(name, problem))
