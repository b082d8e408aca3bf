"""Softmax and its losses: any shape, any axis, labels that are ignored, weights of classes."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError

from . import plain

GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((3, 4, 5, 6), np.float32)


def close(made, expected):
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", range(-4, 4))
def test_softmax_along_any_axis(axis):
    expected = plain.softmax(X, axis)
    for _ in range(3):
        close(rooftile.softmax(X, axis), expected)
        close(rooftile.softmax(X, axis=axis), expected)
    out = np.empty_like(X)
    assert rooftile.softmax(X, axis=axis, out=out) is out
    close(out, expected)
    dy = GENERATOR.standard_normal(X.shape, np.float32)
    dx = expected * (dy - (dy * expected).sum(axis, keepdims=True))
    close(rooftile.softmax_gradient(expected.astype(np.float32), dy, axis), dx)


@pytest.mark.parametrize("rank", [1, 2, 3, 5, 7])
def test_softmax_of_any_rank(rank):
    x = GENERATOR.standard_normal((2,) * (rank - 1) + (3,), np.float32)
    for axis in {0, rank // 2, rank - 1}:
        close(rooftile.softmax(x, axis), plain.softmax(x, axis))


def test_softmax_of_nothing():
    for shape, axis in (((0, 4), 1), ((0, 4), 0), ((3, 0), 1), ((2, 0, 3), 1)):
        x = np.zeros(shape, np.float32)
        assert rooftile.softmax(x, axis).shape == shape
        assert rooftile.softmax_gradient(x, x, axis).shape == shape


def test_softmax_into_an_out_that_is_no_row():
    # What is flattened must be the caller's memory, and no copy of it.
    x, out = X[0, 0], np.zeros((6, 5), np.float32).T
    with pytest.raises(InputError, match="out"):
        rooftile.softmax(X[0], out=np.zeros((6, 5, 4), np.float32).T)
    with pytest.raises(InputError, match="out"):
        rooftile.activation_gradient(x, x, "none", out=out)


def test_wrong_axes():
    for axis in (4, -5, 1.0, None, True):
        with pytest.raises(InputError, match="axis"):
            rooftile.softmax(X, axis)
    with pytest.raises(InputError, match="last axis"):
        rooftile.softmax(np.ones((), np.float32))
    with pytest.raises(InputError, match="dy"):
        rooftile.softmax_gradient(X, X[0])


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [-100, 1, 255])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_cross_entropy_is_pytorchs(reduction, weighted, ignored, kind):
    labels = GENERATOR.integers(0, 4, (3, 5, 6)).astype(kind)
    labels[0, :2] = ignored
    weights = np.array([0.3, 2.0, 1.0, 0.7], np.float32) if weighted else None
    loss, dx = rooftile.softmax_cross_entropy(
        X, labels, class_weights=weights, ignore_index=ignored, reduction=reduction, axis=1
    )
    rows = np.moveaxis(X, 1, -1).reshape(-1, 4)
    expected, slopes = plain.cross_entropy(rows, labels.reshape(-1), weights, ignored, reduction)
    close(loss, expected.reshape(labels.shape if reduction == "none" else ()))
    close(dx, np.moveaxis(slopes.reshape(3, 5, 6, 4), -1, 1))


def test_the_gradient_is_that_of_the_loss():
    x, labels = X[0, 0].astype(np.float64), np.array([0, -100, 5, 2, 2])
    weights = np.arange(1, 7, dtype=np.float32)
    options = {"class_weights": weights, "reduction": "mean"}
    _, dx = rooftile.softmax_cross_entropy(X[0, 0], labels, **options)
    step, found = 1e-6, np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[at] += sign * step
            ends.append(plain.cross_entropy(moved, labels, weights, -100, "mean")[0])
        found[at] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(dx, found, atol=1e-6)


def test_nothing_counts():
    x, labels = X[0, 0], np.full(5, -100, np.int32)
    loss, dx = rooftile.softmax_cross_entropy(x, labels)
    assert not loss.any()
    assert not dx.any()
    loss, dx = rooftile.softmax_cross_entropy(x, labels, reduction="mean")
    assert loss.shape == ()
    assert np.isnan(loss)
    assert not dx.any()
    loss, dx = rooftile.softmax_cross_entropy(x[:0], labels[:0])
    assert (loss.shape, dx.shape) == ((0,), (0, 6))
    assert rooftile.softmax_cross_entropy(x[:0], labels[:0], reduction="sum")[0] == 0


def test_one_row_without_a_batch():
    loss, dx = rooftile.softmax_cross_entropy(X[0, 0, 0], np.array(2))
    expected, slopes = plain.cross_entropy(X[0, 0, :1], np.array([2]), None, -100, "none")
    close(loss, expected[0])
    close(dx, slopes[0])


def test_wrong_arguments():
    x, labels = X[0, 0], np.zeros(5, np.int32)
    for wrong, options in {
        "reduction": {"reduction": "average"},
        "divisor": {"reduction": "mean", "divisor": 2},
        "ignore_index": {"ignore_index": 2**40},
        "class_weights": {"class_weights": np.ones(5, np.float32)},
        "axis": {"axis": 2},
        "labels": {"axis": 0},
    }.items():
        with pytest.raises(InputError, match=wrong):
            rooftile.softmax_cross_entropy(x, labels, **options)
    with pytest.raises(InputError, match=r"labels\[3\]: got 6; expected a class, 0 to 5, or -100"):
        rooftile.softmax_cross_entropy(x, np.array([0, 1, 5, 6, 0]))


@pytest.mark.parametrize("strategy", ["naive", "block_rows"])
def test_on_opencl(strategy, opencl_device):
    labels = np.array([0, -100, 5, 2, 2], np.int32)
    weights = np.arange(1, 7, dtype=np.float32)
    for options in ({}, {"class_weights": weights}, {"reduction": "mean"}):
        made = rooftile.softmax_cross_entropy(
            X[0, 0], labels, strategy=strategy, device=opencl_device.description.device, **options
        )
        for one, expected in zip(
            made, rooftile.softmax_cross_entropy(X[0, 0], labels, **options), strict=True
        ):
            close(one, expected)
