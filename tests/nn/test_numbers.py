"""Pixels and 16-bit numbers become float32 on a device, and scores 16-bit, as on the host."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn.data import FASHION, Pixels, prepare
from rooftile.nn.numbers import Numbers
from rooftile.ops.problem import numpy_dtype

# It is about rounding.
pytestmark = pytest.mark.usefixtures("optimised")

NARROW = ("float16", "bfloat16")
THREE = Pixels((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
GUARD = 4


def some_bits() -> np.ndarray:
    """Every 16-bit pattern that is no NaN."""
    bits = np.arange(2**16).astype(np.uint16)
    return bits[(bits & 0x7FFF) <= 0x7C00]


def converted(device, start, given, made):
    """What a kernel leaves in guarded memory, guard included."""
    guarded = np.full(made.size + GUARD, 7).astype(made.dtype)
    with device.on():
        source, to = device.upload(given), device.upload(guarded)
        device.launches([start(source, to)], ()).start(())
        device.copy_out(to, guarded)
    np.testing.assert_array_equal(guarded[made.size :].astype(np.float32), 7)
    return guarded[: made.size].reshape(made.shape)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("count", [1, 3, 4, 1023, 40_001])
def test_narrow_numbers_are_widened_exactly(dtype, count, device):
    given = np.random.default_rng(count).choice(some_bits(), count).view(numpy_dtype(dtype))
    numbers, expected = Numbers(device, dtype, 1, None), given.astype(np.float32)
    x = converted(device, lambda a, b: numbers.read(a, b, len(given)), given, expected)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("dtype", NARROW)
def test_scores_are_rounded_as_numpy_rounds_them(dtype, device):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(5001, np.float32) * np.exp2(rng.integers(-30, 20, 5001))
    exact = some_bits().view(numpy_dtype(dtype)).astype(np.float32)
    halves = (exact[:-1].astype(np.float64) + exact[1:]) / 2
    special = np.array([np.inf, -np.inf, -0.0, 65504, 65519, 65520, 3.4e38, 1e-45], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.concatenate([values, exact, halves.astype(np.float32), special]).astype(np.float32)
        y = y[~np.isnan(y)]
        expected = y.astype(numpy_dtype(dtype))
    numbers = Numbers(device, dtype, 1, None)
    scores = converted(device, lambda a, b: numbers.write(a, b, len(y)), y, expected)
    np.testing.assert_array_equal(scores.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("dtype", NARROW)
def test_nan_stays_nan(dtype, device):
    y = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0x3F800000], np.uint32).view(np.float32)
    numbers, expected = Numbers(device, dtype, 1, None), np.empty(4, numpy_dtype(dtype))
    scores = converted(device, lambda a, b: numbers.write(a, b, 4), y, expected)
    assert np.isnan(scores.astype(np.float32)).tolist() == [True, True, True, False]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 1023, 5000])
def test_pixels_become_the_numbers_of_prepare(count, device):
    pixels = np.random.default_rng(count).integers(0, 256, count, np.uint8)
    expected = prepare(pixels[:, None, None], 1).ravel()
    numbers = Numbers(device, "uint8", 1, FASHION)
    x = converted(device, lambda a, b: numbers.read(a, b, count), pixels, expected)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (5, 3, 5, 7), (1, 3, 1, 1), (3, 3, 16, 16)])
def test_each_channel_has_a_table_of_its_own(shape, device):
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    expected = pixels.astype(np.float32)
    THREE.standardise(expected)
    mean, deviation = (np.array(v)[:, None, None] for v in (THREE.mean, THREE.deviation))
    np.testing.assert_allclose(expected, (pixels / 255 - mean) / deviation, rtol=1e-5, atol=1e-6)
    numbers = Numbers(device, "uint8", shape[2] * shape[3], THREE)
    x = converted(device, lambda a, b: numbers.read(a, b, pixels.size), pixels, expected)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("nbytes", [1, 5, 1000])
def test_bytes_are_moved(nbytes, device):
    given = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    numbers = Numbers(device, "uint8", 1, None)
    moved = converted(device, lambda a, b: numbers.move(a, b, nbytes), given, given)
    np.testing.assert_array_equal(moved, given)
