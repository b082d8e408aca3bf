"""Rungs with arrays between their steps pass slices of the batch through them."""

import pytest

from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.conv2d.gpu import _slices
from tests.support.ladder_checks import check

SLICED = {"channels_atomic": 3, "im2col": 3, "winograd": 3, "fft": 4}
"""Launches of a slice."""
PROBLEM = Conv2d(5, 6, 13, 18, 3, (3, 3), padding=(1, 0), pool=Pool.of("max", 2))


@pytest.mark.parametrize("name", SLICED)
@pytest.mark.parametrize("images", [1, 2])
def test_slices_are_right_and_hold_the_stated_size(name, images, device, monkeypatch):
    rung = strategy("conv2d", name, "opencl")
    config = rung.config(PROBLEM)
    floats = rung.image_floats(PROBLEM, config)
    one = sum(floats.values())
    monkeypatch.setattr(_slices, "MOST_BYTES", 4 * one * images)
    assert len(rung.steps(PROBLEM, config)) == SLICED[name] * -(-PROBLEM.batch // images)
    workspace = rung.workspace(PROBLEM, config)
    assert sum(workspace[name] for name in floats) == images * one
    check(rung, PROBLEM, device)


def test_an_image_beyond_the_stated_size_is_a_slice_of_its_own():
    assert _slices.slice_images(7, _slices.MOST_BYTES) == 1


def test_slices_cover_the_batch():
    assert _slices.slices(7, 3) == [(0, 3), (3, 3), (6, 1)]


def test_tiles_are_powers_of_two_within_bounds():
    assert [tile_of(count, 4, 16) for count in (1, 4, 5, 16, 99)] == [4, 4, 8, 16, 16]
