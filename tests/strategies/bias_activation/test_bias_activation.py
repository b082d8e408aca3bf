"""Every rung of `bias_activation`, and that a result may take the place of what it is made of."""

from __future__ import annotations

import dataclasses
from typing import get_args

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import Linear
from rooftile.ops.activation import Differentiable
from rooftile.ops.layers.bias_activation import NAMED, BiasActivation
from rooftile.strategies import strategy
from tests.support.every_rung import EveryRung, Wrong

ROWS = BiasActivation(9, 37, bias=True)


class TestRungs(EveryRung):
    problems = (BiasActivation(1, 1003, "softplus"), ROWS, BiasActivation(5, 8, "none", bias=True))
    near = (ROWS,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        ROWS,
        ("naive", "(i) % COLUMNS", "(i) % (COLUMNS - 1)"),
        ("vectors", "VALUE(first + 3, value.w)", "VALUE(first + 2, value.w)"),
    )


@pytest.mark.parametrize("activation", get_args(Differentiable))
def test_every_activation_on_both_kinds_of_device(activation, opencl_device):
    problem = BiasActivation(3, 41, activation, bias=True)
    verify(problem, strategy("bias_activation", "loops"), neighbours=False).raise_if_wrong()
    rung = strategy("bias_activation", "vectors", "cuda")
    verify(problem, rung, device=opencl_device, neighbours=False).raise_if_wrong()


def test_it_is_what_a_product_lacks_of_a_linear_layer():
    layer = Linear(9, 5, 37, "relu")
    x, weights, bias = layer.random(0)
    found = ROWS.reference((x @ weights.T).astype(np.float64), bias)
    np.testing.assert_allclose(found, layer.reference(x, weights, bias), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"columns": 0}, {"activation": "sign"}])
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(ROWS, **wrong)
