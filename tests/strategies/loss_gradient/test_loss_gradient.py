"""Every rung of `loss_gradient`; that it is the gradient, and what training minimises."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn.training.losses import loss_of
from rooftile.ops.gradients.loss_gradient import NAMED, LossGradient
from tests.support.every_rung import EveryRung, Wrong

LABELLED = LossGradient(9, 10, "half_squared_error")
KINDS = (
    LossGradient(13, 1, "sigmoid_cross_entropy"),
    LossGradient(11, 1),
    LossGradient(4, 3, "missed"),
    LossGradient(5, 6, "squared_distance"),
    LABELLED,
    LossGradient(7, 33, numbers=True),
)


class TestRungs(EveryRung):
    problems = KINDS
    near = (LABELLED,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        LABELLED,
        ("naive", "k == labels[n] ? 1.0f : 0.0f", "k == 0 ? 1.0f : 0.0f"),
        ("naive", "slope * share", "slope"),
        ("block_rows", "reach > 0; reach /= 2", "reach > 1; reach /= 2"),
    )


@pytest.mark.parametrize("problem", KINDS, ids=str)
def test_the_reference_is_the_gradient_of_the_mean(problem):
    y, targets = problem.random(0)
    _, dy = problem.reference(y, targets)
    direction, step = np.random.default_rng(1).standard_normal(y.shape), 1e-6
    ends = [
        problem.reference(y.astype(np.float64) + sign * step * direction, targets)[0].mean()
        for sign in (1, -1)
    ]
    assert (dy * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("problem", KINDS, ids=str)
def test_the_reference_is_the_loss_that_a_training_on_the_cpu_minimises(problem):
    y, targets = problem.random(0)
    name, before = problem.loss, "none"
    if name == "sigmoid_cross_entropy":
        name, before = "cross_entropy", "sigmoid"
    mean, gradient = loss_of(name, problem.outputs, before)(y.astype(np.float64), targets)
    losses, dy = problem.reference(y, targets)
    assert mean == pytest.approx(losses.mean(), rel=1e-12)
    np.testing.assert_allclose(gradient, dy, rtol=1e-12)


def test_problems():
    for wrong in (
        {"rows": 0},
        {"outputs": 0},
        {"loss": "least"},
        {"loss": "missed", "numbers": True},
        {"loss": "sigmoid_cross_entropy"},
    ):
        with pytest.raises(InputError):
            dataclasses.replace(LABELLED, **wrong)
