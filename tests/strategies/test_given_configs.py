"""A problem whose default config is beyond a device is taken with one that is within."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pytest

from rooftile.errors import UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies import strategy

LONG_MASK = Conv1d(2000, 600)
"""Its halo of 599 elements is more than two loads of 256 threads, and less than two of 1,024."""


def test_a_valid_config_is_taken_where_the_default_is_not(opencl_device):
    rung = strategy("conv1d", "tile_two_loads", "opencl")
    assert "halo of 599" in rung.why_not(LONG_MASK)
    with pytest.raises(UnsupportedProblem, match="halo of 599"):
        verify(LONG_MASK, rung, device=opencl_device)
    with pytest.raises(UnsupportedProblem, match="halo of 599"):
        verify(LONG_MASK, rung, device=opencl_device, config={"BLOCK": 256})
    found = verify(LONG_MASK, rung, device=opencl_device, config={"BLOCK": 1024}, neighbours=False)
    assert found.passed, found


def test_a_config_takes_no_feature_that_the_strategy_does_not():
    rung = strategy("conv1d", "tile_two_loads", "opencl")
    double = replace(LONG_MASK, dtype="float64")
    assert rung.why_refused(LONG_MASK, "ieee", {"BLOCK": 1024}) is None
    assert rung.why_refused(double, "ieee", {"BLOCK": 1024}) == rung.why_not(double) is not None


@pytest.mark.parametrize("rows", [37, 700])
def test_a_band_is_sought_among_those_of_few_threads(rows):
    """A padding of 65,537 took 0.4 s: every number of rows was tried."""
    rung = copy(strategy("conv2d", "direct_tile_fp16", "cuda"))
    tried, invalid = [], rung.invalid
    rung.invalid = lambda problem, config: tried.append(1) or invalid(problem, config)
    tall = Conv2d(1, 1, 9, 9, 2, (3, 3), (1, 1), (65_537, 1))
    rung.defaults(tall)
    assert len(tried) < 400
    problem = Conv2d(1, 1, rows, 9, 2, (3, 3), (1, 1), (0, 1))
    best = rung.defaults(problem)
    from rooftile.strategies.conv2d.gpu.direct_tile import _tile

    def share(count: int) -> float:
        return _tile.busy(problem, {**best, "BAND_ROWS": count})

    fitting = [
        count
        for count in range(1, rows + 1)
        if invalid(problem, {**best, "BAND_ROWS": count}) is None
        and _tile.threads(problem, {**best, "BAND_ROWS": count}) <= 256
    ]
    assert share(best["BAND_ROWS"]) == max(map(share, fitting))
