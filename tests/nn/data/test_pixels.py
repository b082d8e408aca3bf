"""How pixels become numbers: what is refused, and the tables."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.nn import ConvLayer, Network, Pixels
from rooftile.nn.data import FASHION, prepare


def test_the_numbers_are_those_of_prepare():
    levels = np.arange(256, dtype=np.uint8)
    expected = prepare(levels[:, None, None], 1).reshape(1, 256)
    np.testing.assert_array_equal(FASHION.numbers(), expected)
    np.testing.assert_array_equal(Pixels().numbers()[0, [0, 255]], [0, 1])


@pytest.mark.parametrize("pixels", [FASHION, Pixels(), Pixels((0.9, 0.2), (0.5, 0.1))])
def test_none_is_larger_than_the_largest(pixels):
    assert np.abs(pixels.numbers()).max() == pytest.approx(pixels.largest)


@pytest.mark.parametrize(
    ("mean", "deviation", "named"),
    [
        ((), (), "mean"), ((np.nan,), (1.0,), "mean"), ((0.0,) * 17, (1.0,) * 17, "mean"),
        ((0.0,), (0.0,), "deviation"), ((0.0, 1.0), (1.0,), "deviation"),
        ((0.0,), (np.inf,), "deviation"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused_by_name(mean, deviation, named):
    with pytest.raises(rooftile.InputError) as caught:
        Pixels(mean, deviation)
    assert caught.value.argument == named


def test_the_numbers_fit_the_networks_channels():
    layers = (ConvLayer("conv1", 2, 3),)
    with pytest.raises(rooftile.InputError, match="pixels"):
        Network("two", (2, 9, 9), layers, pixels=Pixels((0.0,) * 3, (1.0,) * 3))
    assert Network("two", (2, 9, 9), layers, pixels=Pixels()).pixels == Pixels()


@pytest.mark.parametrize("mean", [0.3, (0.3,), [0.3], np.array([0.3]), np.float64(0.3)])
def test_one_number_may_stand_by_itself(mean):
    assert Pixels(mean, 0.37) == Pixels((0.3,), (0.37,))


@pytest.mark.parametrize("mean", ["grey", None, [[0.3]], {}, ()])
def test_what_is_no_number_is_refused_by_name(mean):
    with pytest.raises(InputError, match="mean"):
        Pixels(mean, 0.37)
