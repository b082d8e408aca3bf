"""Integers out of range, ghost cells and any rank on arrays in a real GPU's memory."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError, UnsupportedProblem

from . import plain

pytestmark = pytest.mark.gpu

GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((3, 4, 5, 6), np.float32)


@pytest.fixture
def torch(cuda_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the caller's library")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch


@pytest.fixture
def on_gpu(torch):
    return lambda array: torch.from_numpy(np.ascontiguousarray(array)).cuda()


def close(made, expected):
    np.testing.assert_allclose(made.cpu().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_labels_that_are_no_class_are_skipped(on_gpu):
    labels = np.array([0, -100, 10**8, -1, 3, -(2**31)], np.int32)
    x = GENERATOR.standard_normal((6, 4), np.float32)
    kept = np.where((labels >= 0) & (labels < 4), labels, -100)
    for strategy in ("naive", "block_rows"):
        made = rooftile.softmax_cross_entropy(on_gpu(x), on_gpu(labels), strategy=strategy)
        for one, expected in zip(
            made, plain.cross_entropy(x, kept, None, -100, "none"), strict=True
        ):
            close(one, expected)
    with pytest.raises(InputError, match="int32"):
        rooftile.softmax_cross_entropy(on_gpu(x), on_gpu(labels.astype(np.int64)))
    for loss in ("squared_error", "missed", "squared_distance"):
        rooftile.loss_gradient(on_gpu(x), on_gpu(labels), loss)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_weights_and_axes(on_gpu, reduction):
    labels = GENERATOR.integers(0, 4, (3, 5, 6)).astype(np.int32)
    labels[0, 0] = -100
    weights = np.array([0.3, 2.0, 1.0, 0.7], np.float32)
    loss, dx = rooftile.softmax_cross_entropy(
        on_gpu(X), on_gpu(labels), class_weights=on_gpu(weights), reduction=reduction, axis=1
    )
    rows = np.moveaxis(X, 1, -1).reshape(-1, 4)
    expected, slopes = plain.cross_entropy(rows, labels.reshape(-1), weights, -100, reduction)
    close(loss, expected.reshape(labels.shape if reduction == "none" else ()))
    close(dx, np.moveaxis(slopes.reshape(3, 5, 6, 4), -1, 1))


def test_places_outside_of_their_windows_are_the_nearest(on_gpu):
    images, dy = (GENERATOR.standard_normal(s, np.float32) for s in ((2, 1, 8, 8), (2, 3, 3, 3)))
    masks = GENERATOR.standard_normal((3, 1, 3, 3), np.float32)
    top, left = np.mgrid[:3, :3] * 2
    inside = np.broadcast_to(top * 6 + left, dy.shape).astype(np.int32)
    far = np.full_like(inside, -(2**31))
    options = {"pool": ("max", 2)}
    for where in (inside, far):
        made = rooftile.conv2d_weights_gradient(
            on_gpu(images), on_gpu(dy), 3, where=on_gpu(where), **options
        )
        expected = rooftile.conv2d_weights_gradient(images, dy, 3, where=inside, **options)
        for one, other in zip(made, expected, strict=True):
            close(one, other)
        dx = rooftile.conv2d_input_gradient(
            on_gpu(dy), on_gpu(masks), (8, 8), where=on_gpu(where), **options
        )
        close(dx, rooftile.conv2d_input_gradient(dy, masks, (8, 8), where=inside, **options))


@pytest.mark.parametrize("boundary", ["reflect", "wrap", "symmetric"])
def test_boundaries(on_gpu, boundary):
    x, weights = (GENERATOR.standard_normal(s, np.float32) for s in ((2, 3, 9, 8), (4, 3, 3, 3)))
    expected = plain.correlated(plain.extended(x, (3, 3), boundary), weights)
    for _ in range(3):
        made = rooftile.conv2d(on_gpu(x), on_gpu(weights), padding=1, boundary=boundary)
        close(made, expected)
    volume, mask = (GENERATOR.standard_normal(s, np.float32) for s in ((4, 5, 6), (3, 2, 3)))
    made = rooftile.conv3d(on_gpu(volume), on_gpu(mask), boundary=boundary)
    close(made, plain.centred(volume, mask, boundary))


def test_any_rank_and_no_images(on_gpu, torch):
    weights = GENERATOR.standard_normal((5, 6), np.float32)
    for x in (X, X[0, 0, 0], X[:, 0], X[:0]):
        for _ in range(3):
            close(rooftile.linear(on_gpu(x), on_gpu(weights)), x @ weights.T)
    last = on_gpu(X).to(memory_format=torch.channels_last)
    close(rooftile.linear(last, on_gpu(weights)), X @ weights.T)
    for axis in range(4):
        close(rooftile.softmax(on_gpu(X), axis), plain.softmax(X, axis))
        close(rooftile.softmax(last, axis), plain.softmax(X, axis))
    masks = on_gpu(np.ones((2, 4, 3, 3), np.float32))
    assert rooftile.conv2d(on_gpu(X[:0]), masks).shape == (0, 2, 3, 4)
    assert rooftile.Conv2d(masks)(on_gpu(X[:0])).shape == (0, 2, 3, 4)
    assert rooftile.pool2d(on_gpu(X[:0]), "max", 2).shape == (0, 4, 2, 3)


def test_float64_is_refused(on_gpu):
    a = on_gpu(np.ones((3, 3)))
    for call in (
        lambda: rooftile.matmul(a, a),
        lambda: rooftile.linear(a, a),
        lambda: rooftile.matvec(a, a[0]),
        lambda: rooftile.conv1d(a[0], a[0]),
    ):
        with pytest.raises(UnsupportedProblem, match="float64"):
            call()
