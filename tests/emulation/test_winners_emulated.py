"""The rungs that keep the winners of a max-pool or of a row, on the host: results and places."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops import Conv2d, Pool, narrowed, widened
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.ops.layers.positions import NO_WINNER
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies import ladder, strategy
from tests.emulation.emulator import emulate
from tests.support.storage import stored_by
from tests.support.winner_positions import positions

# Windows of two and of four; bands that end within the image; padding.
TWO = Conv2d(2, 1, 22, 24, 3, (5, 5), activation="relu", pool=Pool.of("max", 2))
FOUR = Conv2d(2, 2, 21, 22, 7, (5, 5), padding=(1, 0), pool=Pool.of("max", 4))
DEEP = dataclasses.replace(FOUR, channels=3)
PAIR = dataclasses.replace(TWO, channels=2)
SEVERAL = dataclasses.replace(TWO, channels=3)
WIDE_MASK = dataclasses.replace(TWO, mask=(7, 7), batch=3)
UNCUT = dataclasses.replace(TWO, activation="none")
WINNERS = [rung for rung in ladder("conv2d", "cuda") if "returns" in rung.requires]
RUNGS = {rung.name.removesuffix("_argmax"): rung for rung in WINNERS}


def given(problem, special=None):
    """Small whole numbers, whose sums are exact in every precision, and of which many are equal."""
    generator = np.random.default_rng(3)
    x, *parameters = (
        generator.integers(-3, 4, array.shape).astype(np.float32)
        for array in (*problem.input_arrays, *problem.parameter_arrays)
    )
    if special is not None:
        x.reshape(-1)[generator.integers(0, x.size, 3)] = special
    return x, parameters


def right(problem, x, parameters):
    """Results and places."""
    whole = dataclasses.replace(problem, pool=None, activation="none")
    with np.errstate(invalid="ignore"):
        sums = whole.reference(x, *parameters).astype(np.float32)
    pooled = Pool2dWinners(problem.batch, problem.maps, *problem.conv_size, problem.pool)
    most, where = pooled.reference(sums)
    return np.maximum(most, 0) if problem.activation == "relu" else most, where


@pytest.mark.parametrize(
    ("name", "problem", "special"),
    [
        ("pool_folded_fp16", TWO, None),
        ("pool_folded_bf16", FOUR, np.nan),
        ("pool_folded_wgmma_fp16", FOUR, np.inf),
        ("pool_folded_tf32", TWO, None),
        ("pool_folded_wgmma_tf32", FOUR, None),
        ("pool_folded_tf32_in_fp16", FOUR, None),
        ("pool_folded_wgmma_ieee", DEEP, None),
        ("pool_folded_ieee", PAIR, np.inf),
        ("direct_bulk", TWO, np.nan),
    ],
)
def test_the_first_of_the_largest_wins(name, problem, special, tmp_path):
    x, parameters = given(problem, special)
    found, places = emulate(RUNGS[name], problem, x, parameters, None, tmp_path)
    expected, where = right(problem, x, parameters)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(places, where)


@pytest.mark.parametrize(
    ("name", "problem", "special", "config"),
    [
        ("pool_folded_bf16", TWO, np.inf, {"STAGED": 1, "OUT_NARROW": 1, "BLOCK_BANDS": 4}),
        ("pool_folded_fp16", TWO, np.nan, {"STAGED": 1, "X_NARROW": 1, "BAND_ROWS": 2}),
        ("pool_folded_bf16", UNCUT, None, {"STAGED": 1}),
        ("pool_folded_tf32", TWO, np.nan, {}),
        ("pool_folded_tf32_in_fp16", TWO, np.inf, {"BAND_ROWS": 2}),
        ("pool_folded_tf32_in_fp16", UNCUT, np.nan, {"STAGED": 1, "BLOCK_BANDS": 4}),
        ("pool_folded_wgmma_ieee", SEVERAL, None, {}),
        ("pool_folded_ieee", PAIR, np.nan, {}),
        ("pool_folded_ieee", WIDE_MASK, None, {"BAND_ROWS": 4, "BUFFERS": 2}),
        ("direct_bulk", TWO, None, {}),
        ("direct_bulk", UNCUT, None, {}),
        ("direct_tile", FOUR, np.nan, {}),
    ],
)
def test_winners_are_told_in_8_bits(name, problem, special, config, tmp_path):
    """By lanes, or staged with bands that end within the image; and what relu cut."""
    x, parameters = given(problem, special)
    config = {**config, "WHERE_NARROW": 1}
    found, told = emulate(RUNGS[name], problem, x, parameters, config, tmp_path)
    expected, where = right(problem, x, parameters)
    np.testing.assert_array_equal(found, expected)
    cut = ~(expected > 0) & (problem.activation == "relu")
    assert cut.any() == (problem.activation == "relu")
    np.testing.assert_array_equal(told, positions(problem, np.where(cut, -1, where)))


def test_what_rounds_to_zero_is_cut(tmp_path):
    """Results of so many times 2^-26, the half of which float16 rounds to zero."""
    (x, (weights, bias)), unit = given(TWO), np.float32(2**-26)
    x, weights, bias = x * 2**12 * unit, weights * np.float32(2**-12), bias * unit
    config = {"OUT_NARROW": 1, "WHERE_NARROW": 1}
    name = "pool_folded_fp16"
    found, told = emulate(RUNGS[name], TWO, x, (weights, bias), config, tmp_path)
    exact, _ = right(TWO, x, (weights, bias))
    np.testing.assert_array_equal(found, widened(narrowed(exact, "fp16"), "fp16"))
    assert ((exact > 0) & (found == 0)).any()
    np.testing.assert_array_equal(told == NO_WINNER, found == 0)


def wide():
    """Images of float16 from the least to the largest, mostly zeros; of two maps all weights but
    one are so small beside that one that float16 has few of their bits, or none."""
    problem = dataclasses.replace(TWO, batch=4)
    generator = np.random.default_rng(11)

    def drawn(shape, least, most):
        signed = generator.choice([-1.0, 1.0], shape) * generator.uniform(1, 2, shape)
        return np.ldexp(signed, generator.integers(least, most, shape))

    x = drawn(problem.input_shape, -14, 15) * (generator.random(problem.input_shape) < 0.1)
    x[2], x[3] = np.ldexp(x[2], -24), drawn(x[3].shape, -24, -14)
    weights = drawn(problem.parameter_shapes["weights"], -3, 3)
    for number, (tap, exponent) in enumerate([(0, -35), (24, -60)]):
        weights[number] = np.ldexp(weights[number], exponent)
        weights[number].reshape(-1)[tap] = 2.0 ** (3 * number)
    exact = x.astype(np.float16).astype(np.float32)
    return problem, exact, [weights.astype(np.float32), np.zeros(3, np.float32)]


def off(rung, folder):
    """How far results are from float64, of the largest sum of magnitudes in their windows: the
    judge itself lets pass what is less than 2^-40 of an image's largest."""
    problem, x, parameters = wide()
    config = {"WHERE_NARROW": 1, "BAND_ROWS": 4}
    found, told = emulate(rung, problem, x, parameters, config, folder)
    assert ((told == NO_WINNER) == (found == 0)).all()
    unit = np.maximum(problem.magnitude(x, *parameters), 2.0**-126)
    return (np.abs(found - problem.reference(x, *parameters)) / unit).max()


def test_weights_that_float16_lacks_the_range_for(tmp_path):
    assert off(RUNGS["pool_folded_tf32_in_fp16"], tmp_path) < 2.0**-11


@pytest.mark.parametrize(
    "wrong",
    [
        ("small ? LEAST_RESULT : 0.0f", "0.0f"),
        ("fabsf(sum) < scale.least", "sum != 0.0f && fabsf(sum) < scale.least"),
        ("up[e / 16 % 4]", "up[0]"),
        ("scales_of(weights)[map]", "scales_of(weights)[0]"),
        ("+ 4 * MAP_GROUPS);\n    return", "+ 2 * MAP_GROUPS);\n    return"),
        ("sum * scale.back", "sum"),
    ],
)
def test_wrong_scales_are_caught(wrong, tmp_path):
    rung = copy.copy(RUNGS["pool_folded_tf32_in_fp16"])
    text = rung.whole_text
    assert wrong[0] in text
    rung.__dict__["text"] = text.replace(*wrong)
    assert not off(rung, tmp_path) < 2.0**-11


@pytest.mark.parametrize(("images", "bands"), [(64, 1), (512, 1), (1024, 2), (8192, 4)])
def test_many_images_of_float16_have_several_bands_a_block(images, bands):
    problem = Conv2d(images, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))
    rung = RUNGS["pool_folded_tf32_in_fp16"]
    problem, _ = stored_by(rung, problem, {})
    assert rung.config(problem)["BLOCK_BANDS"] == bands


def test_a_later_one_of_equals_is_noticed(tmp_path):
    rung = copy.copy(RUNGS["pool_folded_fp16"])
    text = rung.whole_text
    assert "other.place < one.place" in text
    rung.__dict__["text"] = text.replace("other.place < one.place", "other.place > one.place")
    x, parameters = given(FOUR)
    found, places = emulate(rung, FOUR, x, parameters, None, tmp_path)
    expected, where = right(FOUR, x, parameters)
    np.testing.assert_array_equal(found, expected)
    assert (places != where).any()


def test_only_maxima_have_winners():
    for pool in (None, Pool.of("average", 2), Pool.of("max", 2, activation="relu")):
        with pytest.raises(InputError, match="max-pool that nothing follows"):
            dataclasses.replace(TWO, pool=pool, returns=("y", "argmax"))
    for rung in WINNERS:
        assert rung.why_not(TWO) == "it is written for problems with returns alone"


@pytest.mark.parametrize("team", [8, 64])
@pytest.mark.parametrize("special", [None, np.nan, -np.inf])
def test_the_first_of_a_rows_largest_is_found(team, special, tmp_path):
    """Neighbours have equal values, and so have warps; the last row has one value alone."""
    x = np.random.default_rng(5).integers(-3, 4, (5, 700)).astype(np.float32)
    x[-1] = -3 if special is None else special
    config = {"GROUP": team, "ROWS": 1, "LOADS": 2}
    rung = strategy("argreduce", "vectors", "cuda")
    places = emulate(rung, Argreduce(x.shape, -1), x, (), config, tmp_path)
    np.testing.assert_array_equal(places, x.argmax(-1))


def test_who_forgets_the_equal_ones_is_noticed(tmp_path):
    rung = copy.copy(strategy("argreduce", "vectors", "cuda"))
    asked = "if (same(best, best_nearby(joined, thread, best)))"
    assert asked in rung.text
    rung.__dict__["text"] = rung.text.replace(asked, "if (thread == 0)")
    x = np.arange(700, dtype=np.float32)[None]
    places = emulate(rung, Argreduce(x.shape, -1), x, (), {"GROUP": 64}, tmp_path)
    assert (places != 699).all()
