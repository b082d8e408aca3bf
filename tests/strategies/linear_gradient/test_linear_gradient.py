"""Every rung of `linear_gradient`, and that it is the gradient."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.ops.activation import ACTIVATIONS
from rooftile.ops.gradients.linear_gradient import NAMED, LinearGradient
from rooftile.strategies import strategy
from tests.support.every_rung import EveryRung, Wrong

FEW = LinearGradient(7, 45, 33, "relu", "tanh")


class TestRungs(EveryRung):
    # On and off the tiles; items enough for parts.
    problems = (FEW, LinearGradient(40, 32, 32, "gelu"))
    near = (FEW,)
    configured = (LinearGradient(37, 20, 10, "relu", "relu"),)
    compiled = (NAMED["lenet-linear1"], LinearGradient(4096, 32, 10))
    wrong = Wrong(
        FEW,
        ("naive", "sum * derivative(BEFORE, x[pixel])", "sum"),
        ("tiles", "dz[d][of] : dz[of][d]", "dz[d][of] : dz[d][of]"),
        ("tiles", "of_bias += dz[d][threadIdx.x]", "of_bias += dz[threadIdx.x][d]"),
    )


@pytest.mark.parametrize("name", ["naive", "tiles"])
def test_sums_of_many_equal_terms_keep_their_budget(name, opencl_device):
    problem = LinearGradient(300, 130, 40, "relu", "sigmoid")
    bound = strategy("linear_gradient", name, "cuda").bind(problem, (), opencl_device)
    for seed in range(3, 6):
        given = problem.hard(seed)["ties"]
        made = tuple(np.empty(array.shape, np.float32) for array in problem.output_arrays)
        bound(*given, *made)
        verdict = Expected(problem, *given).judge(made, "ieee")
        assert verdict.passed, verdict
        assert verdict.budget_fraction < 0.6


@pytest.mark.parametrize("activation", ["none", "sigmoid", "tanh", "gelu"])
def test_the_reference_is_the_gradient(activation):
    """By differences of ``sum(v * f(x w + b))``, with x itself a value of another activation."""
    problem = LinearGradient(3, 5, 4, activation, "tanh")
    generator = np.random.default_rng(1)
    z, weights, bias, v = (generator.standard_normal(s) for s in ((3, 5), (4, 5), (4,), (3, 4)))
    value = ACTIVATIONS[activation].value

    def loss(z, weights, bias):
        return (v * value(np.tanh(z) @ weights.T + bias)).sum()

    y = ACTIVATIONS[activation].kept(np.tanh(z) @ weights.T + bias)
    found = problem.reference(np.tanh(z), y, v, weights)
    step, given = 1e-6, [z, weights, bias]
    for which, gradient in enumerate(found):
        direction = generator.standard_normal(gradient.shape)
        ends = [
            loss(*(a + sign * step * direction if k == which else a for k, a in enumerate(given)))
            for sign in (1, -1)
        ]
        expected = (ends[0] - ends[1]) / (2 * step)
        assert (gradient * direction).sum() == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_problems():
    for wrong in ({"images": 0}, {"activation": "sign"}, {"before": "softmax"}, {"before": "gelu"}):
        with pytest.raises(InputError):
            dataclasses.replace(FEW, **wrong)
