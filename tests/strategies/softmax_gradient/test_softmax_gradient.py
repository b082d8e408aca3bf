"""Every rung of `softmax_gradient`, and that it is the product with the full Jacobian."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.gradients.softmax_gradient import NAMED, SoftmaxGradient
from rooftile.ops.layers.softmax import Softmax
from tests.support.every_rung import EveryRung, Wrong

FEW = SoftmaxGradient(13, 10)


class TestRungs(EveryRung):
    problems = (FEW, SoftmaxGradient(3, 300))
    near = (FEW,)
    compiled = tuple(build(batch) for build, batch in NAMED.values())
    wrong = Wrong(
        FEW,
        ("naive", "(dy[first + k] - sum)", "dy[first + k]"),
        ("block_rows", "reach > 0; reach /= 2", "reach > 1; reach /= 2"),
    )


def test_the_reference_is_the_gradient():
    x, dy, direction = np.random.default_rng(0).standard_normal((3, 4, 5))
    softmax, step = Softmax(4, 5).reference, 1e-6
    dx = SoftmaxGradient(4, 5).reference(softmax(x), dy)
    ends = [(dy * softmax(x + sign * step * direction)).sum() for sign in (1, -1)]
    assert (dx * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def test_problems():
    for wrong in ({"batch": 0}, {"classes": 0}):
        with pytest.raises(InputError):
            dataclasses.replace(FEW, **wrong)
