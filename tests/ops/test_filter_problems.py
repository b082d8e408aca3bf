"""`conv1d` and `separable` as problems: references against loops, arrays, costs, neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.ops import named, names, parse
from rooftile.ops.boundary import BOUNDARIES
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.separable import AROUND, Separable


def ghost(i, length, boundary):
    """The index that stands for a ghost cell's; None for a zero."""
    if 0 <= i < length:
        return i
    return min(max(i, 0), length - 1) if boundary == "replicate" else None


def by_hand(x, mask, boundary):
    """One signal under one mask, one tap after the other."""
    length, taps = len(x), len(mask)
    before = 0 if boundary == "valid" else (taps - 1) // 2
    count = length - taps + 1 if boundary == "valid" else length
    x, mask = x.tolist(), mask.tolist()  # Python's floats, which have 64 bits
    made = np.zeros(count)
    for i in range(count):
        if boundary == "interior" and (i < before or i + taps - before > length):
            continue
        places = [ghost(i + q - before, length, boundary) for q in range(taps)]
        made[i] = sum(x[at] * mask[q] for q, at in enumerate(places) if at is not None)
    return made


def same(made, expected):
    """Equal up to the order of float64's sums."""
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(
    length=st.integers(1, 40), mask=st.integers(1, 63), boundary=st.sampled_from(BOUNDARIES),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_the_reference_of_a_signal_is_that_of_loops(length, mask, boundary, seed):
    if boundary == "valid" and mask > length:
        with pytest.raises(InputError, match="mask"):
            Conv1d(length, mask, boundary)
        return
    problem = Conv1d(length, mask, boundary)
    x, weights = problem.random(seed)
    same(problem.reference(x, weights), by_hand(x, weights, boundary))
    assert (problem.magnitude(x, weights) >= np.abs(problem.reference(x, weights)) - 1e-9).all()


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_channels_are_summed_for_each_map(boundary):
    problem = Conv1d(17, 4, boundary, 2, 3, 5, 3)
    x, weights = problem.random(0)
    for n, m in np.ndindex(2, 5):
        made = sum(by_hand(x[n, c], weights[m, c], boundary) for c in range(3))
        same(problem.reference(x, weights)[n, m], made)


@settings(max_examples=30)
@given(
    height=st.integers(1, 12), width=st.integers(1, 12),
    mask=st.tuples(st.integers(1, 9), st.integers(1, 9)), boundary=st.sampled_from(AROUND),
)  # fmt: skip
def test_the_reference_of_an_image_is_that_of_two_passes(height, width, mask, boundary):
    if boundary == "valid" and (mask[0] > height or mask[1] > width):
        with pytest.raises(InputError, match="column" if mask[0] > height else "row"):
            Separable(height, width, mask, boundary)
        return
    problem = Separable(height, width, mask, boundary)
    x, column, row = problem.random(3)
    down = np.stack([by_hand(x[:, j], column, boundary) for j in range(width)], axis=1)
    made = np.stack([by_hand(line, row, boundary) for line in down])
    same(problem.reference(x, column, row), made)


def test_the_course_leaves_the_first_and_the_last_output_zero():
    x, mask = np.arange(1, 8, dtype=np.float32), np.array([3, 4, 5], np.float32)
    made = Conv1d(7, 3, "interior").reference(x, mask)
    assert made.tolist() == [0, 26, 38, 50, 62, 74, 0]


def test_arrays_and_costs_of_signals():
    problem = parse("conv1d", "length=1000,mask=5")
    assert problem == Conv1d(1000, 5)
    assert [array.shape for array in problem.arrays] == [(1000,), (5,), (1000,)]
    assert problem.batch_size is None
    assert (problem.flops, problem.bytes) == (10_000, 4 * 2005)
    assert Conv1d(1000, 5, "valid").output_arrays[0].shape == (996,)
    voices = named("conv1d", "voices", 4)
    assert [array.shape for array in voices.arrays] == [(4, 2, 48000), (8, 2, 15), (4, 8, 48000)]
    assert voices.with_batch(9).batch_size == 9
    assert voices.flops == 2 * 4 * 8 * 48000 * 30
    with pytest.raises(InputError, match="batch"):
        problem.with_batch(2)
    wrong = ({"rank": 2}, {"batch": 2}, {"boundary": "mirror"}, {"length": 0}, {"mask": 0})
    for fields in wrong:
        with pytest.raises(InputError):
            Conv1d(**{"length": 9, "mask": 3, **fields})


def test_arrays_and_costs_of_images():
    problem = parse("separable", "height=30,width=40,mask=5x3,boundary=valid")
    assert [array.shape for array in problem.arrays] == [(30, 40), (5,), (3,), (26, 38)]
    assert problem.flops == 2 * 26 * 38 * 8
    many = named("separable", "thumbnails", 3)
    assert (many.batch_size, many.output_arrays[0].shape) == (3, (3, 224, 224))
    assert many.with_batch(5).batch == 5
    with pytest.raises(InputError, match="batch"):
        problem.with_batch(2)
    for fields in ({"rank": 1}, {"batch": 2}, {"boundary": "interior"}, {"mask": (0, 3)}):
        with pytest.raises(InputError):
            Separable(**{"height": 9, "width": 9, "mask": (3, 3), **fields})


@pytest.mark.parametrize("operation", ["conv1d", "separable"])
def test_neighbours_and_the_smallest_are_of_the_same_kind(operation):
    for name in names(operation):
        problem = named(operation, name)
        for other in (*problem.neighbours(), *problem.smallest()):
            assert (other.boundary, other.rank) == (problem.boundary, problem.rank)
            assert other.flops < 10**8
        assert problem.shrunk().flops <= problem.flops
