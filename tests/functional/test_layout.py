"""`rooftile.transpose`, `permute_columns` and `rotate` as their user calls them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError, UnsupportedProblem

X = np.random.default_rng(0).standard_normal((3, 40, 56), np.float32)


@pytest.mark.parametrize("strategy", [None, "loops", "threads", "blocked", "vectors"])
def test_matrices(strategy):
    y = rooftile.transpose(X[0], strategy=strategy)
    assert y.flags.c_contiguous
    assert (y == X[0].T).all()
    assert (rooftile.transpose(X, (0, 2, 1), strategy=strategy) == X.transpose(0, 2, 1)).all()


def test_as_numpy():
    for axes in (None, (2, 0, 1), [1, 0, 2], (-1, -2, -3), (0, 1, 2)):
        assert (rooftile.transpose(X, axes) == X.transpose(axes)).all()
    for dtype in (np.float16, ml_dtypes.bfloat16, np.uint8, np.float64, np.bool_):
        y = rooftile.transpose(X.astype(dtype), (0, 2, 1))
        assert y.dtype == dtype
        assert (y == X.astype(dtype).transpose(0, 2, 1)).all()
    assert rooftile.transpose(np.full((), 3, np.float32)) == 3
    assert (rooftile.transpose(X[0].T) == X[0]).all()


def test_in_place():
    x = np.arange(2 * 70 * 70, dtype=np.float32).reshape(2, 70, 70)
    expected = x.transpose(0, 2, 1).copy()
    assert rooftile.transpose(x, (0, 2, 1), out=x) is x
    assert (x == expected).all()
    one = np.full((1, 1), 3, np.float32)
    assert rooftile.transpose(one, out=one) == 3
    # The shape stays, and the matrices behind it are not square.
    y = np.zeros((4, 2, 4), np.float32)
    with pytest.raises(UnsupportedProblem, match="no matrices"):
        rooftile.transpose(y, (2, 1, 0), out=y)
    with pytest.raises(InputError, match="shape"):
        rooftile.transpose(X, (0, 2, 1), out=X)
    with pytest.raises(UnsupportedProblem, match="out is x"):
        rooftile.transpose(x, (0, 2, 1), strategy="vectors", out=x)
    view = x[:, ::2, ::2]
    with pytest.raises(InputError, match="contiguous"):
        rooftile.transpose(view, (0, 2, 1), out=view)


def test_out():
    out = np.empty((56, 40), np.float32)
    assert rooftile.transpose(X[0], out=out) is out
    assert (out == X[0].T).all()
    x = np.zeros((8, 8), np.float32)
    for wrong in (np.empty((40, 56), np.float32), np.empty((56, 40))):
        with pytest.raises(InputError, match="out"):
            rooftile.transpose(X[0], out=wrong)
    with pytest.raises(InputError, match="overlaps"):
        rooftile.transpose(x, out=x.reshape(8, 8))


@pytest.mark.parametrize("strategy", [None, "loops", "threads"])
def test_permute_columns(strategy):
    x, order = X[0], np.random.default_rng(1).permutation(56).astype(np.int32)
    assert (rooftile.permute_columns(x, order, strategy=strategy) == x[:, order]).all()
    some = np.array([55, 0, 0, 7], np.int32)
    half = x.astype(np.float16)
    assert (rooftile.permute_columns(half, some, strategy=strategy) == half[:, some]).all()
    worked = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.int32)
    made = rooftile.permute_columns(worked, np.array([2, 0, 1], np.int32))
    assert made.tolist() == [[3, 1, 2], [6, 4, 5], [9, 7, 8]]


@pytest.mark.parametrize("strategy", [None, "loops", "threads", "in_place"])
def test_rotate(strategy):
    for shift in (1, 0, -3, 56, 1000):
        assert (rooftile.rotate(X, shift, strategy=strategy) == np.roll(X, shift, -1)).all()
    x = X.copy()
    assert rooftile.rotate(x, out=x) is x
    assert (x == np.roll(X, 1, -1)).all()
    assert (x[..., 0] == X[..., 55]).all()
    assert rooftile.rotate(x, 56, out=x) is x
    assert (x == np.roll(X, 1, -1)).all()


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("index", lambda: rooftile.permute_columns(X[0], np.array([0, 56], np.int32))),
        ("index", lambda: rooftile.permute_columns(X[0], np.array([-1], np.int32))),
        ("index", lambda: rooftile.permute_columns(X[0], np.arange(56))),
        ("index", lambda: rooftile.permute_columns(X[0], np.array([], np.int32))),
        ("x", lambda: rooftile.permute_columns(X, np.array([0], np.int32))),
        ("shift", lambda: rooftile.rotate(X, 1.5)),
        ("x", lambda: rooftile.rotate(np.full((), 3, np.float32))),
        ("x", lambda: rooftile.transpose(np.zeros((2, 3), np.complex64))),
        ("x", lambda: rooftile.transpose([[1.0]])),
        ("axes", lambda: rooftile.transpose(X, (0, 1))),
        ("axes", lambda: rooftile.transpose(X, (0, 1, 1))),
        ("axes", lambda: rooftile.transpose(X, (0, 1, 3))),
        ("axes", lambda: rooftile.transpose(X, (0, 1, 2.0))),
        ("axes", lambda: rooftile.transpose(X, 1)),
        ("strategy", lambda: rooftile.transpose(X, strategy="fastest")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_on_opencl(opencl_device):
    assert (rooftile.transpose(X, (0, 2, 1), device="opencl") == X.transpose(0, 2, 1)).all()
    x = X[0, :40, :40].copy()
    rooftile.transpose(x, device="opencl", out=x)
    assert (x == X[0, :40, :40].T).all()


def test_columns_and_rotation_on_opencl(opencl_device):
    order = np.random.default_rng(1).permutation(56).astype(np.int32)
    made = rooftile.permute_columns(X[0], order, device="opencl")
    assert (made == X[0][:, order]).all()
    x = X.copy()
    rooftile.rotate(x, 5, device="opencl", out=x)
    assert (x == np.roll(X, 5, -1)).all()
    assert (rooftile.rotate(X, -5, device="opencl") == np.roll(X, -5, -1)).all()


def test_columns_and_rotation_of_tensors(cuda_device):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).cuda()
    order = torch.randperm(56, dtype=torch.int32, device="cuda")
    assert torch.equal(rooftile.permute_columns(x[0], order), x[0][:, order.long()])
    # Nothing outside of a row is read, whatever the index says.
    wild = torch.tensor([-5, 3, 10**9], dtype=torch.int32, device="cuda")
    assert torch.equal(rooftile.permute_columns(x[0], wild), x[0][:, [0, 3, 55]])
    expected = torch.roll(x, 1, -1)
    assert torch.equal(rooftile.rotate(x), expected)
    assert rooftile.rotate(x, out=x) is x
    assert torch.equal(x, expected)


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).cuda()
    assert torch.equal(rooftile.transpose(x, (0, 2, 1)), x.permute(0, 2, 1))
    for dtype in (torch.float16, torch.bfloat16, torch.uint8):
        narrow = x.to(dtype)
        assert torch.equal(rooftile.transpose(narrow, (2, 0, 1)), narrow.permute(2, 0, 1))
    square = x[0, :40, :40].contiguous()
    expected = square.T.clone()
    assert rooftile.transpose(square, out=square) is square
    assert torch.equal(square, expected)
