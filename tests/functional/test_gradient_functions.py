"""The public functions of gradients: right, on both kinds of device, and strict."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.lab.judge.verify import assert_close
from rooftile.ops import Pool
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient

POOL = Pool.of("max", 2)
PLACED = (2, 3, 9, 11, 4, (3, 3), (1, 1), (1, 0), POOL)
CASES = {
    "activation": (
        ActivationGradient(12, "tanh"),
        lambda y, dy, **k: rooftile.activation_gradient(
            y.reshape(3, 4), dy.reshape(3, 4), "tanh", **k
        ).reshape(-1),
    ),
    "softmax": (SoftmaxGradient(3, 5), rooftile.softmax_gradient),
    "cross-entropy": (
        SoftmaxCrossEntropy(3, 5, 3),
        lambda x, labels, **k: rooftile.softmax_cross_entropy(x, labels, divisor=3, **k),
    ),
    "loss": (
        LossGradient(3, 5, "missed"),
        lambda y, labels, **k: rooftile.loss_gradient(y, labels, "missed", **k),
    ),
    "linear": (
        LinearGradient(3, 5, 4, "relu", "tanh"),
        lambda *a, **k: rooftile.linear_gradient(*a, activation="relu", before="tanh", **k),
    ),
    "weights": (
        Conv2dWeightsGradient(*PLACED),
        lambda x, dy, where, **k: rooftile.conv2d_weights_gradient(
            x, dy, 3, where=where, pool=POOL, padding=(1, 0), **k
        ),
    ),
    "weights behind an activation": (
        Conv2dWeightsGradient(2, 3, 9, 11, 4, (3, 2), activation="tanh"),
        lambda x, dy, y, **k: rooftile.conv2d_weights_gradient(
            x, dy, (3, 2), y=y, activation="tanh", **k
        ),
    ),
    "input": (
        Conv2dInputGradient(*PLACED),
        lambda dy, where, weights, **k: rooftile.conv2d_input_gradient(
            dy, weights, (9, 11), where=where, pool=("max", 2), padding=(1, 0), **k
        ),
    ),
    "input behind an activation": (
        Conv2dInputGradient(*PLACED, before="relu"),
        lambda dy, where, x, weights, **k: rooftile.conv2d_input_gradient(
            dy, weights, (9, 11), where=where, pool=POOL, padding=(1, 0), x=x, before="relu", **k
        ),
    ),
    "winners": (
        Pool2dWinners(2, 3, 9, 11, POOL),
        lambda x, **k: rooftile.pool2d_winners(x, 2, **k),
    ),
    "average": (
        Pool2dGradient(2, 3, 9, 11, Pool.of("average", 2)),
        lambda x, dy, **k: rooftile.pool2d_gradient(x, dy, "average", 2, **k),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_right_on_the_cpu(name):
    problem, function = CASES[name]
    given = problem.random(0)
    assert_close(problem, function(*given), *given, precision="ieee")


@pytest.mark.parametrize("name", CASES)
def test_right_on_a_gpu(name, opencl_device):
    problem, function = CASES[name]
    given = problem.random(0)
    made = function(*given, device=opencl_device.description.device)
    assert_close(problem, made, *given, precision="ieee")


def test_out_is_written_and_given_back():
    y, dy, out = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32), np.empty((2, 3))
    out = out.astype(np.float32)
    assert rooftile.activation_gradient(y, dy, "relu", out=out) is out
    np.testing.assert_array_equal(out, dy)


def test_wrong_arguments_are_named():
    y = np.ones((2, 3), np.float32)
    image = np.ones((1, 1, 4, 4), np.float32)
    with pytest.raises(InputError, match="dy"):
        rooftile.activation_gradient(y, y[:1], "relu")
    with pytest.raises(InputError, match="sign has none"):
        rooftile.activation_gradient(y, y, "sign")
    with pytest.raises(InputError, match="labels"):
        rooftile.softmax_cross_entropy(y, np.zeros(3, np.int32))
    with pytest.raises(InputError, match="targets"):
        rooftile.loss_gradient(y, np.zeros(3, np.int32))
    with pytest.raises(InputError, match="integer labels"):
        rooftile.loss_gradient(y, y, "missed")
    with pytest.raises(InputError, match="targets"):
        rooftile.loss_gradient(y, y[:, :2])
    with pytest.raises(InputError, match="dy"):
        rooftile.linear_gradient(y, y, y[:, :1], np.ones((3, 3), np.float32))
    with pytest.raises(InputError, match="x and before"):
        rooftile.conv2d_input_gradient(image, image, (7, 7), x=image)
    with pytest.raises(InputError, match="where"):
        rooftile.conv2d_weights_gradient(image, image, 1, pool=("max", 2))
    with pytest.raises(InputError, match="y and activation"):
        rooftile.conv2d_weights_gradient(image, image, 1, activation="relu")
    where = np.zeros((1, 1, 4, 4), np.int32)
    with pytest.raises(InputError, match="'none' after a pool"):
        rooftile.conv2d_weights_gradient(
            image, image, 1, where=where, pool=("max", 2), y=image, activation="relu"
        )
    with pytest.raises(InputError, match="dy"):
        rooftile.pool2d_gradient(image, image, "max", 2)
