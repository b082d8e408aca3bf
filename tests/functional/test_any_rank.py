"""`linear` keeps leading axes, and empty batches give empty results, as NumPy and PyTorch do."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.nn import LinearLayer, Network

GENERATOR = np.random.default_rng(0)
WEIGHTS, BIAS = (GENERATOR.standard_normal(shape, np.float32) for shape in ((5, 7), (5,)))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("leading", [(), (1,), (3,), (2, 3), (2, 1, 3, 2), (0,), (2, 0)])
def test_linear(leading, dtype):
    x = GENERATOR.standard_normal((*leading, 7)).astype(dtype)
    expected = x.astype(np.float64) @ WEIGHTS.astype(np.float64).T + BIAS
    close = {"rtol": 1e-5 if dtype == np.float32 else 1e-2, "atol": 1e-2 * (dtype != np.float32)}
    for _ in range(3):
        made = rooftile.linear(x, WEIGHTS, BIAS)
        assert (made.shape, made.dtype) == ((*leading, 5), dtype)
        np.testing.assert_allclose(made, expected, **close)
    out = np.zeros((*leading, 5), dtype)
    assert rooftile.linear(x, WEIGHTS, BIAS, out=out) is out
    np.testing.assert_allclose(out, expected, **close)


def test_views_and_wrong_shapes():
    x = GENERATOR.standard_normal((7, 3, 2), np.float32).transpose(2, 1, 0)
    np.testing.assert_allclose(rooftile.linear(x, WEIGHTS), x @ WEIGHTS.T, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="out"):
        rooftile.linear(x, WEIGHTS, out=np.zeros((5, 3, 2), np.float32).transpose(2, 1, 0))
    with pytest.raises(InputError, match=r"out.*\(2, 3, 5\)"):
        rooftile.linear(x, WEIGHTS, out=np.zeros((6, 5), np.float32))
    with pytest.raises(InputError, match="last axis"):
        rooftile.linear(np.ones((), np.float32), WEIGHTS)
    with pytest.raises(InputError, match="last axis"):
        rooftile.linear(np.ones((3, 0), np.float32), WEIGHTS)
    with pytest.raises(InputError, match="x's 6 inputs"):
        rooftile.linear(np.ones((2, 3, 6), np.float32), WEIGHTS)


def test_linear_on_opencl(opencl_device):
    x = GENERATOR.standard_normal((2, 3, 7), np.float32)
    made = rooftile.linear(x, WEIGHTS, BIAS, device=opencl_device.description.device)
    np.testing.assert_allclose(made, x @ WEIGHTS.T + BIAS, rtol=1e-5, atol=1e-6)


EMPTY = np.zeros((0, 3, 8, 9), np.float32)
MASKS = np.ones((4, 3, 3, 3), np.float32)


def test_no_images():
    assert rooftile.conv2d(EMPTY, MASKS).shape == (0, 4, 6, 7)
    assert rooftile.conv2d(EMPTY, MASKS, pool=("max", 2), padding=1, stride=2).shape == (0, 4, 2, 2)
    assert rooftile.pool2d(EMPTY, "max", 2).shape == (0, 3, 4, 4)
    assert rooftile.Conv2d(MASKS)(EMPTY).shape == (0, 4, 6, 7)
    assert rooftile.Linear(WEIGHTS)(np.zeros((0, 7), np.float32)).shape == (0, 5)
    out = np.zeros((0, 4, 6, 7), np.float32)
    assert rooftile.conv2d(EMPTY, MASKS, out=out) is out
    half = rooftile.conv2d(EMPTY.astype(np.float16), MASKS)
    assert (half.dtype, half.shape) == (np.float16, (0, 4, 6, 7))


def test_no_images_are_checked_like_some():
    with pytest.raises(InputError, match="channels"):
        rooftile.conv2d(EMPTY[:, :2], MASKS)
    with pytest.raises(InputError, match="strategy"):
        rooftile.conv2d(EMPTY, MASKS, strategy="nonsense")
    with pytest.raises(UnsupportedProblem):
        rooftile.conv2d(EMPTY, MASKS, strategy="pointwise")
    with pytest.raises(InputError, match="empty"):
        rooftile.conv2d(EMPTY[:, :, :0], MASKS)
    with pytest.raises(InputError, match="out"):
        rooftile.conv2d(EMPTY, MASKS, out=np.zeros((1, 4, 6, 7), np.float32))


def test_networks_and_plans_take_no_images():
    layers = (LinearLayer("hidden", 6), LinearLayer("classes", 4))
    network = Network("none", (1, 3, 4), layers).initialise(seed=0)
    images = np.zeros((0, 1, 3, 4), np.float32)
    assert network.predict(images).shape == (0,)
    plan = network.plan(batch=3)
    assert plan(images).shape == (0, 4)
    out = np.zeros((0, 4), np.float32)
    assert plan(images, out=out) is out
    with pytest.raises(InputError, match="images"):
        plan(images[:, :, :2])
