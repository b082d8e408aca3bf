"""Every boundary of every function that has one, as `numpy.pad` has it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.functional.padding import PADDED
from rooftile.ops.layers.conv2d import Conv2d
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.separable import Separable
from rooftile.ops.patterns.stencil import Stencil

from . import plain

GENERATOR = np.random.default_rng(0)
VOLUMES = [*PADDED, "replicate"]


def numbers(*shape):
    return GENERATOR.standard_normal(shape, np.float32)


def check(function, expected, out):
    """Three times: what a call keeps must be right for the next one."""
    for _ in range(3):
        np.testing.assert_allclose(function(), expected, rtol=1e-4, atol=1e-4)
    assert function(out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("boundary", PADDED)
@pytest.mark.parametrize("taps", [1, 4, 5, 31])
def test_conv1d(boundary, taps):
    x, mask = numbers(13), numbers(taps)
    expected = plain.centred(x, mask, boundary)
    check(lambda **k: rooftile.conv1d(x, mask, boundary=boundary, **k), expected, np.empty_like(x))
    several, masks = numbers(2, 3, 9), numbers(4, 3, taps)
    expected = plain.correlated(plain.extended(several, (taps,), boundary), masks)
    made = rooftile.conv1d(several, masks, boundary=boundary)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("boundary", PADDED)
def test_separable(boundary):
    x, column, row = numbers(2, 9, 11), numbers(4), numbers(5)
    expected = [plain.centred(one, column[:, None] * row, boundary) for one in x]
    check(
        lambda **k: rooftile.separable(x, column, row, boundary=boundary, **k),
        expected,
        np.empty_like(x),
    )


@pytest.mark.parametrize("boundary", PADDED)
def test_conv2d(boundary):
    x, weights, bias = numbers(2, 3, 7, 8), numbers(4, 3, 3, 3), numbers(4)
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (1, 1)), plain.MODES[boundary])
    z = plain.correlated(padded, weights)[:, :, ::2, ::2] + bias[:, None, None]
    expected, options = np.maximum(z, 0), {"stride": 2, "padding": (2, 1), "activation": "relu"}

    def function(**more):
        return rooftile.conv2d(x, weights, bias, boundary=boundary, **options, **more)

    check(function, expected, np.empty(expected.shape, np.float32))
    prepared = rooftile.Conv2d(weights, bias, boundary=boundary, **options)
    check(lambda **k: prepared(x, **k), expected, np.empty(expected.shape, np.float32))
    nothing = rooftile.conv2d(x[:0], weights, boundary=boundary, padding=1)
    assert nothing.shape == (0, 4, 7, 8)


@pytest.mark.parametrize("boundary", VOLUMES)
def test_conv3d(boundary):
    x, mask = numbers(4, 5, 6), numbers(3, 2, 3)
    expected = plain.centred(x, mask, boundary)
    check(lambda **k: rooftile.conv3d(x, mask, boundary=boundary, **k), expected, np.empty_like(x))


@pytest.mark.parametrize("boundary", VOLUMES)
def test_stencil(boundary):
    x, coefficients = numbers(9, 8), np.abs(numbers(9)) / 9
    expected = x.astype(np.float64)
    for _ in range(3):
        expected = plain.centred(expected, coefficients.reshape(3, 3), boundary)
    check(
        lambda **k: rooftile.stencil(x, coefficients, steps=3, boundary=boundary, **k),
        expected,
        np.empty_like(x),
    )


@pytest.mark.parametrize("boundary", PADDED)
def test_on_opencl(boundary, opencl_device):
    x, weights = numbers(2, 3, 7, 8), numbers(4, 3, 3, 3)
    place = opencl_device.description.device
    made = rooftile.conv2d(x, weights, padding=1, boundary=boundary, device=place)
    expected = plain.correlated(plain.extended(x, (3, 3), boundary), weights)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


def test_unknown_boundaries_and_nothing_to_repeat():
    x, mask = numbers(9), numbers(3)
    with pytest.raises(InputError, match=r"boundary: got 'mirror'.*'reflect', 'wrap'"):
        rooftile.conv1d(x, mask, boundary="mirror")
    with pytest.raises(InputError, match="elements to reflect"):
        rooftile.conv1d(x[:0], mask, boundary="reflect")
    with pytest.raises(InputError, match="axes"):
        rooftile.conv2d(x, mask, boundary="wrap", padding=1)
    with pytest.raises(InputError, match="axes"):
        rooftile.conv3d(numbers(2, 3, 4), mask, boundary="wrap")
    with pytest.raises(InputError, match="valid"):
        rooftile.Conv2d(numbers(1, 1, 3, 3), boundary="valid")


@pytest.mark.parametrize(
    "problem",
    [
        Conv1d(9, 3), Conv2d(1, 1, 9, 9, 1, (3, 3), padding=(1, 1)), Conv3d(5, 5, 5, (3, 3, 3)),
        Separable(9, 9, (3, 3)), Stencil((9, 9), 5),
    ],
    ids=lambda problem: problem.operation,
)  # fmt: skip
@pytest.mark.parametrize("boundary", PADDED)
def test_no_strategy_is_asked_for_what_it_does_not_know(problem, boundary):
    # A rung would compute zeros without a word; so there is no such problem.
    with pytest.raises(InputError, match="boundary"):
        dataclasses.replace(problem, boundary=boundary)
