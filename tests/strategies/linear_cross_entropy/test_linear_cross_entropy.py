"""Every rung of `linear_cross_entropy`; that it is the layers, the loss and their gradients."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops import Linear
from rooftile.ops.gradients.linear_cross_entropy import NAMED, LinearCrossEntropy
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies import strategy
from tests.support.caught import check_caught
from tests.support.every_rung import EveryRung, Wrong, changed

ONE = LinearCrossEntropy(9, 301, 20, "relu", scaled=True)
TWO = LinearCrossEntropy(9, 13, 3, "tanh", 100, "sigmoid")


class TestRungs(EveryRung):
    # Features that no team divides, in one step and in several; rows that teams do not share
    # evenly; a last block with an item; more outputs than a warp has teams.
    problems = (
        LinearCrossEntropy(9, 5, 2, "tanh", settled=True),
        LinearCrossEntropy(1, 1, 2, "none", 4),
        LinearCrossEntropy(33, 32, 10, "relu", 1044, "relu", scaled=True),
        LinearCrossEntropy(5, 70, 25, "sigmoid", 2052, "tanh"),
        ONE,
        TWO,
    )
    near = (LinearCrossEntropy(9, 40, 5, "relu"), LinearCrossEntropy(5, 11, 3, "relu", 24))
    configured = (ONE, TWO)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        TWO,
        ("naive", "o == label ? 1.0f : 0.0f", "o == 0 ? 1.0f : 0.0f"),
        ("two_layers", "whole + first_biases[k % INPUTS]", "whole"),
        ("two_layers", "row[label] - largest", "row[0] - largest"),
    )


@pytest.mark.parametrize(
    "change",
    [
        ("score[k] = sum + bias[k % OUTPUTS]", "score[k] = sum"),
        ("sum * derivative(BEFORE, given[k])", "sum"),
    ],
)
def test_wrong_texts_of_one_layer_are_caught(change, opencl_device, tmp_path):
    problem = LinearCrossEntropy(9, 30, 7, "relu")
    check_caught(changed(problem.operation, "items", *change), problem, opencl_device, tmp_path)


def test_the_reference_is_the_layers_the_loss_and_their_gradients():
    x, first, first_bias, weights, bias, labels = TWO.random(0)
    hidden = Linear(9, 100, 13, "tanh").reference(x, first, first_bias)
    scores = Linear(9, 13, 3).reference(hidden, weights, bias)
    loss, dz = SoftmaxCrossEntropy(9, 3, divisor=9).reference(scores, labels)
    last = LinearGradient(9, 13, 3, "none", "tanh")
    hidden_dz, *_ = last.reference(hidden, dz, dz, weights)
    below = LinearGradient(9, 100, 13, "none", "sigmoid")
    dx, *_ = below.reference(x, hidden_dz, hidden_dz, first)
    expected = hidden, hidden_dz, dx, loss, dz
    for found, wanted in zip(TWO.reference(*TWO.random(0)), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "takes"),
    [
        ((64, 32, 10), True),
        ((1, 4096, 10), False),
        ((1, 8, 33), False),
        ((64, 32, 10, "relu", 1024), False),
    ],
)
def test_items_is_for_few_inputs_and_outputs_of_one_layer(given, takes):
    rung = strategy("linear_cross_entropy", "items", "cuda")
    assert (rung.why_not(LinearCrossEntropy(*given)) is None) is takes


@pytest.mark.parametrize(
    ("sizes", "takes"),
    [
        ((1024, 32, 10), True),
        ((784, 128, 10), True),
        ((1022, 32, 10), False),
        ((6272, 32, 10), False),
        ((1024, 256, 8), False),
    ],
)
def test_two_layers_is_for_small_ones(sizes, takes):
    features, inputs, outputs = sizes
    problem = LinearCrossEntropy(64, inputs, outputs, "relu", features)
    rung = strategy("linear_cross_entropy", "two_layers", "cuda")
    assert (rung.why_not(problem) is None) is takes


@pytest.mark.parametrize(
    ("name", "given", "slow"),
    [
        ("items", (8192, 32, 10), False),
        ("items", (8192, 512, 10), True),
        ("two_layers", (2048, 32, 10, "relu", 1024), False),
        ("two_layers", (8192, 32, 10, "relu", 1024), True),
    ],
)
def test_many_products_are_slow(name, given, slow):
    rung = strategy("linear_cross_entropy", name, "cuda")
    assert rung.pays(LinearCrossEntropy(*given)) is not slow


@pytest.mark.parametrize(
    "wrong", [{"images": 0}, {"inputs": 0}, {"outputs": 0}, {"features": -1}, {"before": "gelu"}]
)
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(ONE, **wrong)
