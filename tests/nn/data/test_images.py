from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.nn.data import DEVIATION, MEAN, load_images, prepare, resize

images = st.builds(
    lambda seed, n, height, width: np.random.default_rng(seed).integers(
        0, 256, (n, height, width), np.uint8
    ),
    st.integers(0, 99), st.integers(1, 5), st.integers(1, 30), st.integers(1, 30),
)  # fmt: skip


def resized(image: np.ndarray, size: int) -> np.ndarray:
    """Bilinear, pixel by pixel in float64."""
    height, width = image.shape
    out = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            v = min(max((i + 0.5) * height / size - 0.5, 0), height - 1)
            h = min(max((j + 0.5) * width / size - 0.5, 0), width - 1)
            top, left = int(v), int(h)
            bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
            a, b = v - top, h - left
            out[i, j] = (1 - a) * ((1 - b) * image[top, left] + b * image[top, right]) + a * (
                (1 - b) * image[bottom, left] + b * image[bottom, right]
            )
    return out


@given(x=images, size=st.integers(1, 40))
def test_images_are_resized_and_standardised(x, size):
    expected = [(resized(image / 255, size) - MEAN) / DEVIATION for image in x]
    result = prepare(x, size)
    assert (result.shape, result.dtype) == ((len(x), 1, size, size), np.float32)
    np.testing.assert_allclose(result[:, 0], expected, atol=4e-6)


@given(x=images, size=st.integers(1, 90), data=st.data())
def test_a_slice_gives_the_bits_of_the_whole(x, size, data):
    begin = data.draw(st.integers(0, len(x)))
    end = data.draw(st.integers(begin, len(x)))
    np.testing.assert_array_equal(prepare(x[begin:end], size), prepare(x, size)[begin:end])


def test_the_same_size_is_not_resized():
    x = np.random.default_rng(0).integers(0, 256, (2, 28, 28), np.uint8)
    np.testing.assert_allclose(prepare(x, 28)[:, 0] * DEVIATION + MEAN, x / 255, atol=1e-6)


def test_the_sample_is_about_standard():
    x = prepare(load_images("test", limit=1000).images, 28)
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02


def test_no_images_give_no_images():
    assert prepare(np.empty((0, 28, 28), np.uint8), 86).shape == (0, 1, 86, 86)


@pytest.mark.parametrize(
    ("x", "size", "message"),
    [
        (np.zeros((2, 28, 28), np.float32), 86, "float32"),
        (np.zeros((28, 28), np.uint8), 86, r"uint8\[28, 28\]"),
        (np.zeros((1, 0, 28), np.uint8), 86, r"uint8\[1, 0, 28\]"),
        (np.zeros((1, 28, 28), np.uint8), 0, "size"),
    ],
)
def test_other_input_is_refused(x, size, message):
    with pytest.raises(InputError, match=message):
        prepare(x, size)


@given(x=images, size=st.integers(1, 40))
def test_resized_levels_are_rounded(x, size):
    result = resize(x, size)
    assert (result.dtype, result.shape) == (np.uint8, (len(x), size, size))
    exact = np.stack([resized(image, size) for image in x])
    assert np.abs(result - exact).max() <= 0.5 + 1e-4
    np.testing.assert_array_equal(resize(result, size), result)
    colours = np.stack([x, x[::-1]], axis=1)
    assert np.array_equal(resize(colours, (size, size))[:, 1], result[::-1])
    with pytest.raises(InputError, match="images"):
        resize(x.astype(np.float32), size)
