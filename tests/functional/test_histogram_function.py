"""`rooftile.histogram`: NumPy's counts, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile


@pytest.fixture
def floats():
    return np.random.default_rng(0).standard_normal((50, 401)).astype(np.float32)


def test_bytes(floats):
    picture = (floats * 40).astype(np.int32).astype(np.uint8)
    found = rooftile.histogram(picture)
    assert found.dtype == np.int64
    assert (found == np.bincount(picture.ravel(), minlength=256)).all()


def test_numpys_counts(floats):
    for x in (floats, (floats * 100).astype(np.int32)):
        assert (rooftile.histogram(x, 77) == np.histogram(x, 77)[0]).all()
        assert (rooftile.histogram(x, 10, (-1, 2)) == np.histogram(x, 10, (-1, 2))[0]).all()
    edges = np.sort(floats[0, :40])
    assert (rooftile.histogram(floats, edges) == np.histogram(floats, edges)[0]).all()


def test_weights_and_out(floats):
    weights, out = np.abs(floats), np.empty(8, np.float32)
    assert rooftile.histogram(floats, 8, (-3, 3), weights, out=out) is out
    expected = np.histogram(floats, 8, (-3, 3), weights=weights.astype(np.float64))[0]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_one_element_and_one_value():
    assert (rooftile.histogram(np.array([7], np.uint8), 2, (0, 14)) == [0, 1]).all()
    ones = np.ones(9, np.float32)
    assert (rooftile.histogram(ones, 4) == np.histogram(ones, 4)[0]).all()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"bins": 0}, "bins"),
        ({"bins": 2**23}, "bins"),
        ({"bins": True}, "bins"),
        ({"bins": np.array([1, 0], np.float32)}, "bins"),
        ({"bins": np.array([1], np.float32)}, "bins"),
        ({"bins": np.array([0, 1], np.float32), "range": (0, 1)}, "range"),
        ({"range": (1, 0)}, "range"),
        ({"range": (0, np.nan)}, "range"),
        ({"range": "all"}, "range"),
        ({"weights": np.ones(3, np.float32)}, "weights"),
        ({"out": np.ones(256, np.float32)}, "out"),
        ({"strategy": "fastest"}, "strategy"),
    ],
)
def test_bad_arguments_are_named(floats, options, name):
    with pytest.raises(rooftile.InputError, match=name):
        rooftile.histogram(floats, **options)


@pytest.mark.parametrize("x", [np.zeros(3, complex), [1, 2], None, np.array([np.nan], np.float32)])
def test_bad_arrays_are_named(x):
    with pytest.raises(rooftile.InputError):
        rooftile.histogram(x)
