"""Every rung of `softmax_cross_entropy`, and that it is the gradient."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.gradients.softmax_cross_entropy import NAMED, SoftmaxCrossEntropy
from tests.support.every_rung import EveryRung, Wrong

FEW = SoftmaxCrossEntropy(13, 10, 13)
WEIGHTED = SoftmaxCrossEntropy(29, 10, 1, True, 3)
"""Random labels of it are the ignored one and no class, too."""


class TestRungs(EveryRung):
    problems = (FEW, SoftmaxCrossEntropy(3, 300), WEIGHTED)
    near = (FEW, WEIGHTED)
    compiled = (*(build(batch) for build, batch in NAMED.values()), WEIGHTED)
    wrong = Wrong(
        WEIGHTED,
        ("naive", "k == label", "k == 0"),
        ("block_rows", "reach > 0; reach /= 2", "reach > 1; reach /= 2"),
        ("naive", "label != IGNORED", "label != -100"),
        ("naive", "? weights[label]", "? weights[0]"),
    )


def test_the_reference_is_the_gradient():
    x, labels = SoftmaxCrossEntropy(4, 5).random(0)
    problem, step = SoftmaxCrossEntropy(4, 5), 1e-6
    _, dx = problem.reference(x, labels)
    direction = np.random.default_rng(1).standard_normal(x.shape)
    ends = [
        problem.reference(x.astype(np.float64) + sign * step * direction, labels)[0].sum()
        for sign in (1, -1)
    ]
    assert (dx * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def test_problems():
    for wrong in ({"batch": 0}, {"classes": 0}, {"divisor": 0}):
        with pytest.raises(InputError):
            dataclasses.replace(FEW, **wrong)
