"""Every dtype in every pattern gives what NumPy gives: any shape, order and axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooftile
from rooftile.ops.operator import limits
from rooftile.ops.problem import DTYPES, numpy_dtype

INTEGERS = tuple(dtype for dtype in DTYPES if "float" not in dtype)
NUMPYS = tuple(dtype for dtype in DTYPES if dtype != "bfloat16")

some = settings(max_examples=40, deadline=None)


@st.composite
def arrays(draw, dtypes=NUMPYS, least=1):
    """An array of any dtype, of few values or of all, with NaN and both zeros; a view or not."""
    dtype = numpy_dtype(draw(st.sampled_from(dtypes)))
    shape = tuple(draw(st.lists(st.integers(least, 9), min_size=1, max_size=3)))
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype.kind in "iub":
        low, high = limits(dtype.name)
        few = draw(st.booleans())
        low, high = (max(low, -2), min(high, 3)) if few else (low, high)
        x = generator.integers(low, high, shape, dtype, endpoint=True)
    else:
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.25]
        x = generator.choice(special if draw(st.booleans()) else special[3:], shape).astype(dtype)
    return x.T if draw(st.booleans()) else x


def same(made, expected):
    """Equal, NaN included, and of one dtype."""
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)


@some
@given(arrays(), st.booleans())
def test_add(x, reverse):
    y = np.flip(x) if reverse else x
    with np.errstate(invalid="ignore"):
        same(rooftile.add(x, y), x + y)


@some
@given(arrays(INTEGERS), st.sampled_from(["sum", "product", "min", "max"]), st.data())
def test_reductions_and_scans_of_integers(x, operator, data):
    """Sums and products have 64 bits: uint64 of uint64, else int64.  NumPy's of other unsigned
    integers are uint64, with the same bits."""
    axis = data.draw(st.sampled_from([None, *range(x.ndim)]))
    of = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum}[operator]
    wide = x
    if operator in ("sum", "product"):
        wide = x.astype(np.uint64 if x.dtype == np.uint64 else np.int64)
    expected = of.reduce(wide, axis=axis, dtype=wide.dtype)
    same(rooftile.reduce(x, operator, axis), np.asarray(expected))
    along = axis or 0
    same(rooftile.scan(x, operator, along), of.accumulate(wide, along, wide.dtype))
    if operator in ("min", "max"):
        same(
            rooftile.argreduce(x, operator, axis),
            np.asarray(getattr(np, f"arg{operator}")(x, axis)),
        )


@some
@given(arrays(), st.data())
def test_orders(x, data):
    axis = data.draw(st.sampled_from(range(x.ndim)))
    same(rooftile.sort(x, axis), np.sort(x, axis))
    places = rooftile.argsort(x, axis)
    same(places, np.argsort(x, axis, kind="stable"))
    back = rooftile.argsort(x, axis, descending=True)
    same(rooftile.sort(x, axis, descending=True), np.flip(np.sort(x, axis), axis))
    # Stable both ways: of equal neighbours the places rise.
    held, at = (np.moveaxis(one, axis, 0) for one in (np.take_along_axis(x, back, axis), back))
    assert (at[1:] > at[:-1])[held[1:] == held[:-1]].all()


@some
@given(arrays(), st.booleans(), st.booleans(), st.booleans(), st.data())
def test_unique(x, index, inverse, counts, data):
    axis = data.draw(st.sampled_from([None, *range(x.ndim)]))
    if axis is not None and x.dtype.kind == "f":
        x = np.nan_to_num(x)  # NumPy takes no two parts with NaN for equal
    made = rooftile.unique(x, index, inverse, counts, axis)
    expected = np.unique(x, index, inverse, counts, axis)
    if not (index or inverse or counts):
        made, expected = (made,), (expected,)
    for one, other in zip(made, expected, strict=True):
        assert one.shape == other.shape
        same(one, other)


@some
@given(arrays(), st.integers(0, 99))
def test_compact_and_partition(x, seed):
    mask = np.random.default_rng(seed).random(x.shape) < 0.5
    same(rooftile.compact(x, mask), x[mask])
    pivot = x.reshape(-1)[:1]
    flat = x.reshape(-1)
    # NaN goes behind every number.
    less = (
        np.isnan(pivot) & ~np.isnan(flat) | (flat < pivot) if x.dtype.kind == "f" else flat < pivot
    )
    made, count = rooftile.partition(x, pivot)
    assert count == less.sum()
    same(made, np.concatenate((flat[less], flat[~less])))


@some
@given(
    arrays(tuple(dtype for dtype in NUMPYS if dtype not in ("bool", "uint8"))),
    st.integers(1, 30), st.sampled_from([None, (-3, 4), (0, 0), (0.5, 200)]),
)  # fmt: skip
def test_histograms(x, bins, range):
    if x.dtype.kind == "f":
        x = np.nan_to_num(x, posinf=7, neginf=-9)
    if range is None and x.dtype == np.float32:
        # NumPy computes such edges in float32, and rooftile in float64.
        range = (float(x.min()), float(x.max()))
    try:
        expected, edges = np.histogram(x, bins, range)
    except ValueError:
        # No bin is as narrow as two neighbours of such large numbers are apart.
        with pytest.raises(rooftile.InputError):
            rooftile.histogram(x, bins, range)
        return
    same(rooftile.histogram(x, bins, range), expected)
    same(rooftile.histogram(x, edges), np.histogram(x, edges)[0])
    weights = np.linspace(-1, 1, x.size).reshape(x.shape)
    made = rooftile.histogram(x, bins, range, weights)
    np.testing.assert_allclose(made, np.histogram(x, bins, range, weights=weights)[0], atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("value", [0.1, -3.7, 1e-30, 0])
def test_one_value_has_bins_of_half_a_unit_about_it(value, dtype):
    x = np.full(5, value, numpy_dtype(dtype))
    assert rooftile.histogram(x, 3).tolist() == [0, 5, 0]


def test_a_value_without_neighbours_is_refused():
    with pytest.raises(rooftile.InputError, match=r"range.*float32 has no number within 0\.5"):
        rooftile.histogram(np.full(5, 2.0**30, np.float32))


def test_any_byte_but_0_is_true():
    x = np.array([0, 2, 1, 255, 0, 4], np.uint8).view(bool)
    assert rooftile.reduce(x) == 4
    assert rooftile.scan(x).tolist() == [0, 1, 2, 3, 3, 4]
    assert rooftile.add(x, x).view(np.uint8).tolist() == [0, 1, 1, 1, 0, 1]
    values, index, counts = rooftile.unique(x, return_index=True, return_counts=True)
    assert (values.tolist(), index.tolist(), counts.tolist()) == ([False, True], [0, 1], [2, 4])


def test_parts_with_many_values_have_codes_that_are_made_anew():
    """Six columns of 2,000 different values: the product of their numbers outgrows int64."""
    generator = np.random.default_rng(0)
    x = np.stack([generator.permutation(2000) for _ in range(6)], axis=1)
    x = np.concatenate((x, x[::-1]))
    for made, expected in zip(
        rooftile.unique(x, True, True, True, 0), np.unique(x, True, True, True, 0), strict=True
    ):
        same(made, expected)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_of_nothing(shape, axis):
    x = np.empty(shape, np.int16)
    made, expected = (f(x, True, True, True, axis) for f in (rooftile.unique, np.unique))
    for one, other in zip(made, expected, strict=True):
        assert one.shape == other.shape
        same(one, other)
