"""Images with their channels last on the CPU: read as they are, and the result laid out as x is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooftile
from rooftile.errors import InputError
from rooftile.runtime.arrays import layouts, libraries
from rooftile.runtime.arrays.base import NumPy


def values(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def last(array):
    """The same images with their channels last."""
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


class Tensor(np.ndarray):
    """An array of a library that has channels last."""


class Tensors(NumPy):
    """That library."""

    title = "a tensor"
    has_layouts = True

    def on_host(self, name, array, dtypes=("float32",)):
        return super().on_host(name, array.view(np.ndarray), dtypes)

    def from_host(self, result):
        return result.view(Tensor)


@pytest.fixture
def tensor(monkeypatch):
    """``tensor(array)``: an array of that library over the same memory."""
    monkeypatch.setitem(libraries.libraries, Tensor, Tensors())
    return lambda array: array.view(Tensor)


@given(
    shape=st.tuples(*[st.integers(1, 5)] * 2, *[st.integers(1, 40)] * 2),
    dtype=st.sampled_from(["float32", "float16"]),
)
def test_there_and_back(shape, dtype):
    x = values(0, *shape).astype(dtype)
    turned = layouts.channels_last(x)
    np.testing.assert_array_equal(turned, x)
    assert turned.transpose(0, 2, 3, 1).flags.c_contiguous
    assert layouts.has_channels_last(turned) == (not turned.flags.c_contiguous)
    back = layouts.row_major(turned)
    np.testing.assert_array_equal(back, x)
    assert back.flags.c_contiguous
    for to in (np.zeros_like(x), np.zeros_like(turned)):
        layouts.write(x, to)
        np.testing.assert_array_equal(to, x)


@pytest.mark.parametrize("view", ["rows", "channels", "columns", "matrix"])
def test_other_views_have_not(view):
    x = last(values(0, 2, 3, 8, 9))
    views = {"rows": x[:, :, ::2], "channels": x[:, 1:], "columns": x[..., 1:], "matrix": x[0, 0]}
    assert layouts.has_channels_last(x)
    assert not layouts.has_channels_last(views[view])


def test_the_result_is_laid_out_as_x_is(tensor):
    x, weights = values(0, 2, 3, 12, 17), values(1, 5, 3, 3, 3)
    expected = rooftile.conv2d(x, weights)
    calls = {
        "function": lambda t, **o: rooftile.conv2d(t, tensor(weights), **o),
        "prepared": lambda t, **o: rooftile.Conv2d(tensor(weights))(t, **o),
    }
    for call in calls.values():
        for given_x, turned in ((x, False), (last(x), True), (last(x), True), (x, False)):
            found = call(tensor(given_x))
            assert layouts.has_channels_last(found.view(np.ndarray)) == turned
            np.testing.assert_array_equal(found, expected)
            for out in (np.full_like(expected, np.nan), last(np.full_like(expected, np.nan))):
                to = tensor(out)
                assert call(tensor(given_x), out=to) is to
                np.testing.assert_array_equal(out, expected)
    pooled = rooftile.pool2d(tensor(last(x)), "max", 2)
    assert layouts.has_channels_last(pooled.view(np.ndarray))
    np.testing.assert_array_equal(pooled, rooftile.pool2d(x, "max", 2))


def test_sixteen_bits_too(tensor):
    x, weights = values(0, 2, 3, 12, 17).astype(np.float16), values(1, 5, 3, 3, 3)
    found = rooftile.conv2d(tensor(last(x)), tensor(weights))
    assert found.dtype == np.float16
    assert layouts.has_channels_last(found.view(np.ndarray))
    np.testing.assert_array_equal(found, rooftile.conv2d(x, weights))


def test_where_a_library_has_no_such_images_they_are_a_view_like_others():
    x, weights = values(0, 2, 3, 12, 17), values(1, 5, 3, 3, 3)
    found = rooftile.conv2d(last(x), weights)
    assert found.flags.c_contiguous
    with pytest.raises(InputError, match="out: got an array that is not c_contiguous"):
        rooftile.conv2d(x, weights, out=last(found))


def test_an_out_with_other_gaps_is_refused(tensor):
    x, weights = values(0, 2, 3, 12, 17), values(1, 5, 3, 3, 3)
    wide = np.zeros((2, 5, 10, 30), np.float32)[..., ::2]
    with pytest.raises(InputError, match="out: got an array that is not c_contiguous"):
        rooftile.conv2d(tensor(x), tensor(weights), out=tensor(wide))
