"""Every rung of `activation_gradient`, and that it is the gradient of every activation."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops.activation import ACTIVATIONS, Differentiable
from rooftile.ops.gradients.activation_gradient import NAMED, ActivationGradient
from rooftile.strategies import strategy
from tests.support.every_rung import EveryRung, Wrong

KINDS = get_args(Differentiable)


class TestRungs(EveryRung):
    problems = (ActivationGradient(1003), ActivationGradient(64, "softplus"))
    near = (ActivationGradient(1003),)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        ActivationGradient(1003),
        ("naive", "t > 0.0f ?", "t >= 0.0f ?"),
        ("vectors", "of.w * derivative(ACTIVATION, value.w)", "of.w"),
    )


@pytest.mark.parametrize("activation", KINDS)
def test_the_reference_is_the_derivative(activation):
    z, dy = np.random.default_rng(0).standard_normal((2, 40))
    value, step = ACTIVATIONS[activation].value, 1e-6
    expected = dy * (value(z + step) - value(z - step)) / (2 * step)
    found = ActivationGradient(40, activation).reference(ACTIVATIONS[activation].kept(z), dy)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("activation", KINDS)
def test_every_activation_on_both_kinds_of_device(activation, opencl_device):
    problem = ActivationGradient(103, activation)
    verify(problem, strategy("activation_gradient", "loops"), neighbours=False).raise_if_wrong()
    rung = strategy("activation_gradient", "vectors", "cuda")
    verify(problem, rung, device=opencl_device, neighbours=False).raise_if_wrong()


def test_sign_has_no_gradient():
    with pytest.raises(InputError, match="sign has none"):
        ActivationGradient(3, "sign")
