"""Every rung of `linear_weights_gradient`; that its products are those of `linear_gradient`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.ops.gradients.linear_weights_gradient import NAMED, LinearWeightsGradient
from tests.support.every_rung import EveryRung, Wrong

ONE = LinearWeightsGradient(9, 33, 5)
TWO = LinearWeightsGradient(130, 37, 3, 41)


class TestRungs(EveryRung):
    problems = (ONE, LinearWeightsGradient(150, 40, 70), TWO)
    near = (ONE, LinearWeightsGradient(5, 7, 3, 6))
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        TWO,
        ("naive", "own % inputs", "own % outputs"),
        ("quarters", "n < last && c < columns", "n < last + 1 && c < columns"),
        ("quarters", "q < THREADS / TILE; q++", "q < THREADS / TILE - 1; q++"),
    )


def test_the_reference_is_that_of_the_whole_gradient():
    x, dz = ONE.random(0)
    weights = np.zeros((5, 33), np.float32)
    _, *expected = LinearGradient(9, 33, 5).reference(x, dz, dz, weights)
    for found, wanted in zip(ONE.reference(x, dz), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_two_layers_are_each_by_itself():
    given = TWO.random(0)
    first = LinearWeightsGradient(130, 41, 37).reference(*given[:2])
    last = LinearWeightsGradient(130, 37, 3).reference(*given[2:])
    for found, wanted in zip(TWO.reference(*given), (*first, *last), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("wrong", [{"images": 0}, {"inputs": 0}, {"outputs": 0}, {"features": -1}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(ONE, **wrong)
