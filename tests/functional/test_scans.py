"""`rooftile.scan` and `rooftile.segmented_scan` as their user calls them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError, UnsupportedProblem

X = np.random.default_rng(0).standard_normal((30, 501), np.float32)
OFFSETS = np.array([0, 3, 3, 100, 501])


def test_along_axes_and_from_either_end():
    for axis in (0, 1, -1):
        assert np.allclose(rooftile.scan(X, axis=axis), X.cumsum(axis, np.float64), atol=1e-4)
    assert (rooftile.scan(X, "max") == np.maximum.accumulate(X, 1)).all()
    backwards = rooftile.scan(X, "min", reverse=True)
    assert (backwards == np.minimum.accumulate(X[:, ::-1], 1)[:, ::-1]).all()
    numbers = np.arange(1, 9, dtype=np.uint8)
    assert (rooftile.scan(numbers, exclusive=True) == [0, 1, 3, 6, 10, 15, 21, 28]).all()
    assert rooftile.scan(numbers).dtype == np.int64
    assert (rooftile.scan(X[::2, ::3]) == rooftile.scan(X[::2, ::3].copy())).all()


def test_of_nothing():
    for shape in ((0,), (3, 0), (0, 3)):
        y = rooftile.scan(np.empty(shape, np.uint8))
        assert (y.shape, y.dtype) == (shape, np.int64)
    assert rooftile.scan(np.empty(0, np.float16), "max").dtype == np.float16
    with pytest.raises(InputError, match="out"):
        rooftile.scan(np.empty(0, np.uint8), out=np.empty(0, np.uint8))


def test_out():
    out = np.empty_like(X)
    assert rooftile.scan(X, out=out) is out
    assert (out == rooftile.scan(X)).all()
    with pytest.raises(InputError, match="out"):
        rooftile.scan(X, out=np.empty(X.shape))


def test_segments():
    x = X[0]
    y = rooftile.segmented_scan(x, OFFSETS)
    for first, last in itertools.pairwise(OFFSETS):
        assert np.allclose(y[first:last], x[first:last].cumsum(), atol=1e-4)
    y = rooftile.segmented_scan(x, OFFSETS.astype(np.int32), "max", exclusive=True)
    assert y[3] == -np.inf
    assert y[5] == max(x[3], x[4])


def test_a_polynomial_by_powers():
    """Horner's rule is a chain; powers by a scan are not."""
    coefficients, t = np.array([3, -1, 0.5, 2], np.float32), np.float32(1.5)
    powers = rooftile.scan(np.full(4, t), "product", exclusive=True)
    assert np.allclose(coefficients @ powers, 3 - 1.5 + 0.5 * 1.5**2 + 2 * 1.5**3)


def test_linear_recurrences():
    """y[i] = a[i] y[i - 1] + b[i]: two scans, or, with one factor, an operator that keeps order."""
    generator = np.random.default_rng(1)
    a, b = 1 + 0.1 * generator.standard_normal(200), generator.standard_normal(200)
    products = rooftile.scan(a, "product")
    y = products * rooftile.scan(b / products)
    expected, before = [], 0.0
    for factor, added in zip(a, b, strict=True):
        before = factor * before + added
        expected.append(before)
    assert np.allclose(y, expected)
    decaying = rooftile.Operator("0.5 * a + b", identity=0, associative=False, commutative=False)
    y = rooftile.scan(b, decaying)
    assert np.allclose(y[1:], 0.5 * y[:-1] + b[1:])
    with pytest.raises(UnsupportedProblem, match="associative=False"):
        rooftile.scan(b, decaying, strategy="two_pass")


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("x", lambda: rooftile.scan([1.0, 2.0])),
        ("x", lambda: rooftile.scan(X.astype(np.complex64))),
        ("axis", lambda: rooftile.scan(X, axis=2)),
        ("axis", lambda: rooftile.scan(X, axis=True)),
        ("axis", lambda: rooftile.scan(np.ones((), np.float32))),
        ("operator", lambda: rooftile.scan(X, "median")),
        ("exclusive", lambda: rooftile.scan(X, exclusive=1)),
        ("reverse", lambda: rooftile.scan(X, reverse=None)),
        ("strategy", lambda: rooftile.scan(X, strategy="fastest")),
        ("offsets", lambda: rooftile.segmented_scan(X[0], OFFSETS[:-1])),
        ("offsets", lambda: rooftile.segmented_scan(X[0], OFFSETS[[0, 2, 3, 1, 4]])),
        ("offsets", lambda: rooftile.segmented_scan(X[0], OFFSETS[:1])),
        ("offsets", lambda: rooftile.segmented_scan(X[0], OFFSETS.astype(np.float32))),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).cuda()
    for axis in (0, 1):
        y = rooftile.scan(x, axis=axis)
        assert y.device.type == "cuda"
        assert torch.allclose(y, x.double().cumsum(axis).float(), atol=1e-3)
    y = rooftile.scan(x.half())
    assert y.dtype == torch.float16
    offsets = torch.from_numpy(OFFSETS).cuda()
    y = rooftile.segmented_scan(x[0], offsets)
    assert torch.allclose(y[3:100], x[0, 3:100].cumsum(0), atol=1e-3)
