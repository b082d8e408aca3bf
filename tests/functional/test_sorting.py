"""`sort`, `argsort`, `sort_pairs`, `unique` and `partition` as a caller has them."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.functional import distinct


def numbers(shape=(30, 40, 5)):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x[0, 0, 0], x[1], x[2], x[3, :, 0] = np.nan, -x[1], 0, -0.0
    return x


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_as_numpy_along_any_axis(axis):
    x = numbers()
    assert np.array_equal(rooftile.sort(x, axis), np.sort(x, axis), equal_nan=True)
    assert (rooftile.argsort(x, axis) == np.argsort(x, axis, kind="stable")).all()
    places = np.arange(x.size, dtype=np.int32).reshape(x.shape)
    y, moved = rooftile.sort_pairs(x, places, axis)
    assert np.array_equal(y, np.sort(x, axis), equal_nan=True)
    assert np.array_equal(x.reshape(-1)[moved], y, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_long_parts_are_told_in_few_calls(dtype, monkeypatch):
    """A part of 784 elements was 784 calls, each for one element of every part."""
    rows = np.random.default_rng(0).integers(0, 99, (60, 784)).astype(dtype)
    x = rows[np.random.default_rng(1).integers(0, 60, 90)]
    calls = []
    runs = distinct.with_runs
    monkeypatch.setattr(distinct, "with_runs", lambda *args: calls.append(1) or runs(*args))
    made = rooftile.unique(x, True, True, True, 0)
    for one, expected in zip(made, np.unique(x, True, True, True, 0), strict=True):
        np.testing.assert_array_equal(one, expected.reshape(one.shape))
    assert len(calls) <= 8


def test_parts_of_many_different_elements():
    """Codes hold few of their numbers, and a part's last element is told again."""
    x = np.random.default_rng(0).standard_normal((7, 3001)).astype(np.float32)
    x = np.concatenate([x, x[:, :40]], axis=1)
    for one, expected in zip(
        rooftile.unique(x, True, True, True, 1), np.unique(x, True, True, True, 1), strict=True
    ):
        np.testing.assert_array_equal(one, expected.reshape(one.shape))


def test_unique_is_numpys():
    x = numbers()
    assert np.array_equal(rooftile.unique(x), np.unique(x), equal_nan=True)
    given = np.array([3, -1, 3, 3, 200, -1])
    assert rooftile.unique(given).tolist() == [-1, 3, 200]


def test_partition_about_a_number_or_an_array():
    x = numbers()
    flat = x.reshape(-1)
    less = flat < 0.5
    for pivot in (0.5, np.array([0.5], np.float32)):
        y, count = rooftile.partition(x, pivot)
        expected = np.concatenate((flat[less], flat[~less]))
        assert np.array_equal(y, expected, equal_nan=True)
        assert count == less.sum()
    _, held = rooftile.partition(x, 0.5, counted=True)
    assert held.tolist() == [less.sum()]


def test_results_go_where_they_are_asked_to():
    x = numbers()
    out, places = np.empty_like(x), np.empty(x.shape, np.int64)
    assert rooftile.sort(x, out=out) is out
    assert rooftile.argsort(x, out=places) is places
    assert rooftile.sort(np.empty((0, 3), np.float32)).shape == (0, 3)
    assert rooftile.unique(np.empty((0, 3), np.int64)).shape == (0,)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: rooftile.sort(x, 3), "axis"),
        (lambda x: rooftile.sort(x.astype(np.complex64)), "x"),
        (lambda x: rooftile.sort_pairs(x, np.zeros(3, np.int32)), "with_it"),
        (lambda x: rooftile.partition(x, np.zeros(2, np.float32)), "pivot"),
        (lambda x: rooftile.partition(x.astype(np.uint8), 300), "pivot"),
        (lambda x: rooftile.partition(x.astype(np.uint8), 2.5), "pivot"),
    ],
)
def test_bad_input_names_the_argument(call, argument):
    with pytest.raises(InputError) as caught:
        call(np.ones((4, 5), np.float32))
    assert caught.value.argument == argument
