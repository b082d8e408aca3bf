"""`pointwise`: tiles of pixels, blocks of channels, parts of the maps."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.lab.judge.verify import random_inputs, verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.cpu import pointwise

RUNG = strategy("conv2d", "pointwise")
PROBLEMS = [
    Conv2d(2, 3, 5, 7, 4, (1, 1)),
    Conv2d(1, 16, 8, 8, 12, (1, 1), activation="relu"),
    Conv2d(3, 257, 9, 15, 13, (1, 1), activation="tanh"),
    Conv2d(2, 600, 7, 7, 100, (1, 1), activation="relu"),
    Conv2d(1, 31, 1, 129, 200, (1, 1), activation="sigmoid"),
]
"""Ends of tiles, panels, blocks of maps and of channels, and their absence."""


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_every_end_is_right(problem):
    verify(problem, RUNG).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_an_image_has_the_same_bits_in_every_batch(problem):
    many = problem.with_batch(40)
    x, *parameters = random_inputs(many, 0)
    found = []
    for batch, threads in ((1, 1), (40, 2)):
        bound = RUNG.bind(problem.with_batch(batch), parameters, cpu.open_device(threads))
        out = np.full((batch, *problem.output_shape[1:]), np.nan, np.float32)
        bound(x[:batch], out)
        found.append(out)
    np.testing.assert_array_equal(found[0], found[1][:1])


def test_a_few_pixels_have_their_maps_in_parts():
    few = Conv2d(1, 32, 7, 7, 512, (1, 1))
    assert RUNG.kernel(few).units(1) > 4
    assert RUNG.kernel(few.with_batch(100)).units(100) == 100


def test_weights_are_woven_the_same_on_all_cores():
    weights = np.random.default_rng(0).standard_normal((45, 300, 1, 1), np.float32)
    packed = [np.full(48 * 300, np.nan, np.float32) for _ in range(2)]
    for threads, into in enumerate(packed, 1):
        pointwise._pack(weights, into, 150, threads)
    rows = weights.reshape(45, 300)
    np.testing.assert_array_equal(packed[0], packed[1])
    # The first block of the second 150 channels: six maps of each channel.
    np.testing.assert_array_equal(
        packed[0][48 * 150 : 48 * 150 + 900].reshape(150, 6), rows[:6, 150:].T
    )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"mask": (1, 2)}, "single tap"),
        ({"stride": (1, 2)}, "stride"),
        ({"padding": (1, 1)}, "padding"),
        ({"pool": Pool.of("max", 2)}, "pool"),
    ],
    ids=["mask", "stride", "padding", "pool"],
)
def test_what_it_refuses(change, word):
    given = {"mask": (1, 1)} | change
    assert word in str(RUNG.why_not(Conv2d(1, 16, 8, 8, 16, **given)))
