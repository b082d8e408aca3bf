"""`rooftile.reduce` as its user calls it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError

GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((37, 1001), np.float32)
BYTES = GENERATOR.integers(0, 256, (37, 1001), np.uint8)


@pytest.mark.parametrize("strategy", [None, "loops", "pairwise", "vectors"])
@pytest.mark.parametrize("axis", [-1, 1])
def test_along_the_last_axis(axis, strategy):
    y = rooftile.reduce(X, "sum", axis, strategy=strategy)
    assert y.dtype == np.float32
    assert np.allclose(y, X.sum(1, dtype=np.float64), atol=1e-3)
    y = rooftile.reduce(BYTES, "sum", axis, strategy=strategy)
    assert y.dtype == np.int64
    assert (y == BYTES.sum(1, dtype=np.int64)).all()


def test_over_all_and_of_views():
    assert rooftile.reduce(BYTES).shape == ()
    assert rooftile.reduce(BYTES) == BYTES.sum()
    assert np.isclose(rooftile.reduce(X[:, ::3]), X[:, ::3].sum(dtype=np.float64), atol=1e-2)
    assert rooftile.reduce(np.full((), 3, np.float32)) == 3


def test_out():
    out = np.full(37, -1, np.int64)
    assert rooftile.reduce(BYTES, axis=-1, out=out) is out
    assert (out == BYTES.sum(1)).all()
    for wrong in (np.empty(37, np.float32), np.empty(36, np.int64), out[::2]):
        with pytest.raises(InputError, match="out"):
            rooftile.reduce(BYTES, axis=-1, out=wrong)


def test_what_is_not_finite_propagates():
    x = X.copy()
    x[3, 7], x[5, 9] = np.nan, np.inf
    y = rooftile.reduce(x, axis=-1)
    assert np.isnan(y[3])
    assert np.isinf(y[5])
    assert np.isfinite(np.delete(y, (3, 5))).all()


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("x", lambda: rooftile.reduce(np.zeros((0, 3), np.float32), "max")),
        ("x", lambda: rooftile.reduce(np.zeros(3, complex))),
        ("offsets", lambda: rooftile.segmented_reduce(X[0], np.array([0, 5, 3, 1001]))),
        ("operator", lambda: rooftile.argreduce(X, "sum")),
        ("axis", lambda: rooftile.argreduce(X, axis=2)),
        ("x", lambda: rooftile.reduce([1.0, 2.0])),
        ("operator", lambda: rooftile.reduce(X, "median")),
        ("axis", lambda: rooftile.reduce(X, axis=2)),
        ("axis", lambda: rooftile.reduce(X, axis=True)),
        ("axis", lambda: rooftile.reduce(np.ones((), np.float32), axis=-1)),
        ("strategy", lambda: rooftile.reduce(X, strategy="fastest")),
        ("device", lambda: rooftile.reduce(X, device="tpu")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_eight_threads_at_first_use():
    x = np.ones((11, 70_001), np.uint8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: rooftile.reduce(x, axis=-1), range(16)))
    assert all((y == 70_001).all() for y in found)


def test_on_opencl(opencl_device):
    y = rooftile.reduce(BYTES, axis=-1, device="opencl")
    assert (y == BYTES.sum(1)).all()
    assert np.isclose(rooftile.reduce(X, device="opencl"), X.sum(dtype=np.float64), atol=1e-2)


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    x, bytes_ = torch.from_numpy(X).cuda(), torch.from_numpy(BYTES).cuda()
    y = rooftile.reduce(x, axis=-1)
    assert y.device.type == "cuda"
    assert torch.allclose(y, x.sum(1), atol=1e-3)
    y = rooftile.reduce(bytes_, axis=-1)
    assert y.dtype == torch.int64
    assert torch.equal(y, bytes_.sum(1))
    assert rooftile.reduce(bytes_).item() == int(BYTES.sum())
    out = torch.empty(37, dtype=torch.int64, device="cuda")
    assert rooftile.reduce(bytes_, axis=-1, out=out) is out


def test_operators_axes_and_nothing():
    x = GENERATOR.standard_normal((5, 6, 7)).astype(np.float32)
    for name, find in (("max", np.max), ("min", np.min)):
        for axis in (0, 1, (0, 2), (1, 2), None):
            assert (rooftile.reduce(x, name, axis) == find(x, axis=axis)).all()
    larger = rooftile.Operator("a > b ? a : b", -np.inf)
    assert rooftile.reduce(x, larger) == x.max()
    assert (rooftile.reduce(np.zeros((0, 3), np.float32), axis=0) == 0).all()
    assert (rooftile.reduce(np.zeros((0, 3), np.int32), "product", 0) == 1).all()
    with pytest.raises(InputError, match="x"):
        rooftile.reduce(np.zeros((0, 3), np.float32), "min", 0)


def test_places_are_numpy_s():
    x = np.round(GENERATOR.standard_normal((9, 300))).astype(np.float32)
    for axis in (None, 0, 1):
        assert (rooftile.argreduce(x, "max", axis) == x.argmax(axis)).all()
        assert (rooftile.argreduce(x, "min", axis) == x.argmin(axis)).all()
    x[3, 200] = np.nan
    assert rooftile.argreduce(x) == x.argmax()


def test_segments():
    x = np.arange(10, dtype=np.int32)
    offsets = np.array([0, 3, 3, 10], np.int32)
    assert (rooftile.segmented_reduce(x, offsets) == [3, 0, 42]).all()
    assert (rooftile.segmented_reduce(x, offsets, "max")[[0, 2]] == [2, 9]).all()


def test_axes_with_others_between_them_are_right_in_each_call_alike():
    x = GENERATOR.standard_normal((3, 4, 5), np.float32)
    out = np.empty(4, np.float32)
    for _ in range(3):
        np.testing.assert_allclose(rooftile.reduce(x, axis=(0, 2)), x.sum((0, 2)), rtol=1e-5)
        assert rooftile.reduce(x, axis=(0, 2), out=out) is out
        np.testing.assert_allclose(out, x.sum((0, 2)), rtol=1e-5)
