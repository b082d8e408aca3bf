"""`rooftile.compact`: NumPy's `x[mask]`, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile


@pytest.fixture
def floats():
    return np.random.default_rng(0).standard_normal((50, 401)).astype(np.float32)


def test_numpys_selection(floats):
    for x in (floats, (floats * 100).astype(np.int64), (floats * 40).astype(np.uint8)):
        for least in (-9, 0.3, 9):
            mask = floats > least
            found = rooftile.compact(x, mask)
            assert found.dtype == x.dtype
            assert (found == x[mask]).all()
            assert found.shape == x[mask].shape


def test_out_and_the_number(floats):
    mask, out = floats > 1, np.full(floats.size, np.float32(7))
    found = rooftile.compact(floats, mask, out=out)
    assert np.shares_memory(found, out)
    assert (out[: found.size] == floats[mask]).all()
    whole, kept = rooftile.compact(floats, mask, counted=True)
    assert whole.shape == (floats.size,)
    assert kept.dtype == np.int64
    assert kept[0] == found.size
    assert (whole[: kept[0]] == found).all()


def test_views_and_any_order(floats):
    x, mask = floats[::2, 1::3], (floats > 0)[::2, 1::3]
    assert (rooftile.compact(x, mask) == x[mask]).all()
    assert (np.sort(rooftile.compact(x, mask, ordered=False)) == np.sort(x[mask])).all()


def test_nothing():
    assert rooftile.compact(np.zeros((3, 0), np.uint8), np.zeros((3, 0), bool)).shape == (0,)
    whole, kept = rooftile.compact(np.zeros(0, np.int32), np.zeros(0, bool), counted=True)
    assert (whole.size, kept[0], whole.dtype) == (0, 0, np.int32)


def test_torch_is_given_torch(floats):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(floats)
    found = rooftile.compact(x, x > 0)
    assert torch.equal(found, x[x > 0])


def test_a_gpu(floats, device):
    options = {"device": "opencl", "strategy": "aggregated", "ordered": False}
    if device.kind == "cuda":
        options["device"] = "cuda"
    found = rooftile.compact(floats, floats > 0, **options)
    assert (np.sort(found) == np.sort(floats[floats > 0])).all()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"mask": np.ones(3, bool)}, "mask"),
        ({"mask": np.ones((50, 401), np.uint8)}, "mask"),
        ({"x": np.ones((50, 401), np.complex64)}, "x"),
        ({"ordered": 1}, "ordered"),
        ({"counted": None}, "counted"),
        ({"out": np.ones(3, np.float32)}, "out"),
        ({"strategy": "fastest"}, "strategy"),
    ],
)
def test_bad_arguments_are_named(floats, options, name):
    given = {"x": floats, "mask": floats > 0, **options}
    with pytest.raises(rooftile.InputError, match=name):
        rooftile.compact(given.pop("x"), given.pop("mask"), **given)
