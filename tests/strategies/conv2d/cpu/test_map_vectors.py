"""`map_vectors`: bands, chunks of channels, masks that are written out or not."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.lab.judge.verify import random_inputs, verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.cpu import map_vectors

RUNG = strategy("conv2d", "map_vectors")
DEEP = Conv2d(2, 200, 9, 11, 37, (5, 5), (1, 1), (2, 2), "relu", Pool.of("max", 2))
PIXELS = Conv2d(2, 5000, 3, 5, 20, (1, 1))
"""It reads images where they lie."""


@pytest.mark.parametrize("problem", [DEEP, PIXELS], ids=["deep", "pixels"])
def test_long_sums_are_made_chunk_by_chunk(problem):
    chunk = map_vectors.chunk(problem)
    assert 0 < chunk < problem.channels
    assert problem.channels % chunk
    verify(problem, RUNG, neighbours=False).raise_if_wrong()


def test_the_bits_do_not_depend_on_the_bands(monkeypatch):
    x, *parameters = random_inputs(DEEP, 0)
    found, bands = [], set()
    for staged in (1, 10**9):
        monkeypatch.setattr(map_vectors, "STAGED_VECTORS", staged)
        map_vectors._kernel.cache_clear()
        bands.add(map_vectors.bands_of(DEEP, map_vectors.choose(DEEP), 10**9))
        out = np.full(DEEP.output_shape, np.nan, np.float32)
        RUNG.bind(DEEP, parameters, cpu.open_device(2))(x, out)
        found.append(out)
    map_vectors._kernel.cache_clear()
    assert len(bands) == 2
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("wide", [1, 3, 7, 8, 11])
def test_narrow_masks_are_written_out(wide):
    problem = Conv2d(2, 9, 7, 31, 19, (3, wide), (1, 2), (1, wide // 2))
    assert map_vectors.choose(problem).wide == (wide if wide <= 7 else 0)
    verify(problem, RUNG, neighbours=False).raise_if_wrong()


def test_bands_of_a_small_image_share_few_rows():
    problem = Conv2d(1, 32, 8, 8, 64, (3, 3), (1, 1), (1, 1))
    block = map_vectors.choose(problem)
    assert map_vectors.bands_of(problem, block) <= 2
    large = Conv2d(1, 32, 112, 112, 64, (3, 3), (1, 1), (1, 1))
    assert map_vectors.bands_of(large, map_vectors.choose(large)) >= 8


RAGGED = [
    Conv2d(3, 5, 7, 11, 37, (3, 3), (1, 1), (1, 1), "relu"),
    Conv2d(3, 4, 9, 5, 16, (3, 2), (2, 1), (1, 0), "tanh"),
    Conv2d(3, 2, 3, 3, 9, (3, 3), (1, 1), (0, 0)),
    Conv2d(3, 6, 14, 14, 21, (5, 5), (1, 1), (0, 0), "relu", Pool.of("max", 2)),
    Conv2d(3, 3, 25, 31, 20, (3, 3), (1, 1), (1, 1), "none", Pool.of("average", 3)),
    Conv2d(3, 40, 12, 8, 24, (5, 5), (1, 1), (2, 2), "tanh", Pool.of("max", 4)),
]
"""Blocks that cross the ends of rows, or end with a band; pools of all kinds."""


@pytest.mark.parametrize("problem", RAGGED, ids=str)
def test_columns_that_run_on_are_right_in_every_band(problem):
    verify(problem, RUNG, neighbours=False).raise_if_wrong()
    verify(problem.with_batch(100), RUNG, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("problem", RAGGED, ids=str)
def test_the_bits_do_not_depend_on_the_number_of_images(problem):
    x, *parameters = random_inputs(problem.with_batch(100), 0)
    found = []
    for batch in (1, 100):
        bound = RUNG.bind(problem.with_batch(batch), parameters, cpu.open_device(2))
        out = np.full((batch, *problem.output_shape[1:]), np.nan, np.float32)
        bound(x[:batch], out)
        found.append(out)
    np.testing.assert_array_equal(found[0], found[1][:1])


def test_many_images_have_few_bands():
    problem = Conv2d(1, 16, 28, 28, 16, (3, 3), (1, 1), (1, 1))
    block = map_vectors.choose(problem)
    assert map_vectors.bands_of(problem, block) > map_vectors.bands_of(problem, block, 64) == 1


@pytest.mark.parametrize("left", [0, 2, 20])
def test_what_is_staged_ends_within_scratch(left):
    problem = Conv2d(2, 3, 5, 6, 20, (3, 3), (1, 1), (1, left + 1))
    kernel = RUNG.kernel(problem)
    x, weights, bias = random_inputs(problem, 0)
    packed, out = np.empty(kernel.packed, np.float32), np.empty(problem.output_shape, np.float32)
    kernel.pack(weights, packed, 1)
    scratch = np.full(kernel.scratch + 100, np.nan, np.float32)
    arrays = x, packed, bias, out, scratch[: kernel.scratch], np.array(kernel.sizes, np.int64)
    row = np.array(cpu.places(arrays), np.int64)
    address = kernel.function.address(("float32",) * 4, scratch=True)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(address)
    entry(row.ctypes.data, 0, 0, kernel.units(2))
    assert np.isnan(scratch[kernel.scratch :]).all()
