"""Gradients of convolutions on tensor cores, emulated on the host: right, inside their arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.ops import Pool
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import strategy
from tests.emulation.emulator import judged as judged_rung
from tests.emulation.emulator import missing
from tests.support.storage import stored_by
from tests.support.winner_positions import without_cuts

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

POOL = Pool.of("max", 4)
# Eight windows a row, whose last ones reach beyond; pixels that no window met; an odd image more.
WIDE = Conv2dInputGradient(3, 4, 13, 41, 16, (7, 7), pool=POOL)
# More channels and maps than an instruction's; padding, and a row of no whole vectors.
PADDED = Conv2dInputGradient(2, 5, 10, 11, 19, (3, 4), padding=(1, 2), pool=POOL, before="relu")
# A mask of eight columns, one map.
THIN = Conv2dInputGradient(1, 1, 12, 16, 1, (2, 8), pool=POOL)


# Windows of unequal sides and an odd width: a pair's second pixel may not be there.
UNEVEN = Conv2dInputGradient(
    3, 2, 14, 17, 3, (3, 4), padding=(2, 1), pool=Pool.of("max", (3, 2)), before="relu"
)
# Windows of one step; runs of two pixels; a last map of no whole group.
NARROW = Conv2dInputGradient(2, 2, 14, 18, 5, (5, 3), padding=(2, 2), pool=Pool.of("max", (3, 2)))
# Pairs of pixels that are whole words of 16 bits.
BEHIND = Conv2dInputGradient(2, 3, 12, 18, 4, (3, 3), pool=Pool.of("max", 2), before="relu")


def judged(name, problem, given, folder, config=None, wrong=None, **options):
    rung = strategy("conv2d_input_gradient", name, "cuda")
    return judged_rung(rung, problem, given, folder, config, wrong, **options)


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("mma_tf32", WIDE, {"BAND": 4, "WARPS": 2, "WHERE_NARROW": 1}),
        ("mma_tf32", PADDED, {}),
        ("mma_tf32", THIN, {"BAND": 1, "WARPS": 10}),
        ("mma_bf16", WIDE, {}),
        ("mma_fp16", PADDED, {"WARPS": 10, "BAND": 2}),
        ("mma_bf16", THIN, {"BAND": 4}),
        ("mma_bf16", UNEVEN, {}),
        ("mma_bf16", UNEVEN, {"X_NARROW": 1, "OUT_NARROW": 1, "WHERE_NARROW": 1}),
        ("mma_fp16", BEHIND, {"X_NARROW": 1, "OUT_NARROW": 1, "DY_NARROW": 1}),
        ("swept", WIDE, {"BANDS": 2, "GROUPS": 2}),
        ("swept", PADDED, {}),
        ("swept", NARROW, {"BANDS": 4, "GROUPS": 4, "WHERE_NARROW": 1}),
        ("swept", dataclasses.replace(NARROW, before="tanh"), {"BANDS": 1, "GROUPS": 1}),
    ],
)
def test_whole_windows(name, problem, config, tmp_path):
    verdict = judged(name, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", ["zeros", "many decades", "subnormal"])
def test_sweeps_leave_out_zeros_alone(kind, tmp_path):
    verdict = judged("swept", PADDED, PADDED.hard(1)[kind], tmp_path)
    assert verdict.passed, verdict


def test_sweeps_leave_out_no_zeros_that_meet_an_infinity(tmp_path):
    *others, weights = PADDED.hard(1)["zeros"]
    weights = weights.copy()
    weights[3, 1, 2] = np.inf
    right, wrong = (tmp_path / name for name in ("right", "wrong"))
    right.mkdir()
    wrong.mkdir()
    verdict = judged("swept", PADDED, (*others, weights), right)
    assert verdict.passed, verdict
    all_left_out = ("if (!keep)", "if (1)")
    assert not judged("swept", PADDED, (*others, weights), wrong, wrong=all_left_out).passed


@pytest.mark.parametrize(
    "wrong",
    [
        ("meets = q < MASK_WIDTH", "meets = 1"),
        ("sum[i] = ahead < STEP ? 0.0f : sum[i];", ""),
        ("place -= STEP * WINDOW_HEIGHT", "place -= WINDOW_HEIGHT"),
        ("i - r * WINDOW_HEIGHT) * PITCH", "i - r * WINDOW_HEIGHT + 1) * PITCH"),
    ],
)
def test_wrong_sweeps_are_caught(wrong, tmp_path):
    given = PADDED.hard(1)["infinities"] if "meets" in wrong[0] else PADDED.random(3)
    assert not judged("swept", PADDED, given, tmp_path, wrong=wrong).passed


@pytest.mark.parametrize("name", ["mma_bf16", "mma_tf32", "swept"])
@pytest.mark.parametrize("kind", ["infinities", "NaN"])
@pytest.mark.parametrize("narrow", [0, 1])
def test_infinities_reach_what_they_met_alone(name, kind, narrow, tmp_path):
    problem = dataclasses.replace(PADDED, batch=3, width=15)
    verdict = judged(name, problem, problem.hard(1)[kind], tmp_path, {"WHERE_NARROW": narrow})
    assert verdict.passed, verdict


# Rows of windows of no whole words, more maps than a tile's, padding; pixels that no window met.
SQUARES = Conv2dWeightsGradient(3, 1, 15, 22, 5, (7, 7), padding=(1, 2), pool=Pool.of("max", 2))
# More channels than a block's; windows of four cells, in vectors of four pixels.
FOURS = Conv2dWeightsGradient(2, 5, 11, 24, 9, (4, 5), pool=POOL)
# Windows of two cells, above each other; an odd width.
HIGH = Conv2dWeightsGradient(4, 2, 13, 11, 3, (2, 3), pool=Pool.of("max", (4, 2)))
# Cells of one row: windows of three, with more maps than a product's of two rows.
FLAT = Conv2dWeightsGradient(5, 3, 13, 20, 6, (3, 2), padding=(0, 3), pool=Pool.of("max", (3, 4)))


def judged_weights(name, problem, given, folder, config=None, wrong=None, **options):
    rung = strategy("conv2d_weights_gradient", name, "cuda")
    return judged_rung(rung, problem, given, folder, config, wrong, **options)


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("mma_bf16", SQUARES, {}),
        ("mma_tf32", SQUARES, {"TILES": 2, "WARPS": 4, "BLOCKS": 1}),
        ("mma_fp16", FOURS, {"ROLES": 2, "WARPS": 4}),
        ("mma_tf32", FOURS, {}),
        ("mma_bf16", HIGH, {"TILES": 1, "ROLES": 1, "WHERE_NARROW": 1}),
        ("mma_fp16", HIGH, {"WHERE_NARROW": 1, "DY_NARROW": 1}),
        ("mma_tf32", HIGH, {"DEEP": 4, "WHERE_NARROW": 1}),
        ("mma_fp16", FLAT, {}),
        ("mma_bf16", SQUARES, {"X_NARROW": 1}),
        ("mma_fp16", FOURS, {"X_NARROW": 1}),
        ("mma_bf16", FLAT, {"X_NARROW": 1}),
        ("mma_tf32", FOURS, {"X_NARROW": 1}),
        ("mma_tf32", dataclasses.replace(FLAT, images=1, maps=1), {"DEEP": 1}),
    ],
)
def test_cells_of_windows(name, problem, config, tmp_path):
    verdict = judged_weights(name, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["mma_bf16", "mma_tf32"])
@pytest.mark.parametrize("kind", ["infinities", "NaN"])
@pytest.mark.parametrize(("problem", "config"), [(SQUARES, {}), (HIGH, {"WHERE_NARROW": 1})])
def test_infinities_reach_the_weights_that_they_met_alone(name, kind, problem, config, tmp_path):
    verdict = judged_weights(name, problem, problem.hard(1)[kind], tmp_path, config)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("operation", "name", "problem"),
    [
        ("conv2d_input_gradient", "mma_bf16", UNEVEN),
        ("conv2d_input_gradient", "mma_tf32", WIDE),
        ("conv2d_input_gradient", "swept", NARROW),
        ("conv2d_weights_gradient", "mma_bf16", HIGH),
    ],
)
def test_who_takes_gradients_that_relu_cut_is_noticed(operation, name, problem, tmp_path):
    rung, given = without_cuts(strategy(operation, name, "cuda")), problem.random(3)
    assert not judged_rung(rung, problem, given, tmp_path, {"WHERE_NARROW": 1}).passed


@pytest.mark.parametrize(
    "wrong",
    [
        ("some.place[k][word] == place ?", "1 ?"),
        ("k * HALF * WINDOW_HEIGHT;", "k * (HALF + 1) * WINDOW_HEIGHT;"),
        ("v % CELL_COLUMNS;", "0;"),
        ("sum += ROUND(OF_WINNER(", "sum -= ROUND(OF_WINNER("),
    ],
)
def test_wrong_cells_are_caught(wrong, tmp_path):
    given = SQUARES.random(3)
    assert not judged_weights("mma_bf16", SQUARES, given, tmp_path, wrong=wrong).passed


@pytest.mark.parametrize("flag", ["WHERE_NARROW", "DY_NARROW"])
def test_what_is_copied_in_fewer_bits_is_whole_words(flag):
    rung = strategy("conv2d_weights_gradient", "mma_bf16", "cuda")
    reason = rung.invalid(stored_by(rung, SQUARES, {flag: 1})[0], rung.config(SQUARES))
    assert reason == "50 places or gradients of less than 32 bits are no whole fours"


def test_images_of_16_bits_end_with_a_word():
    rung = strategy("conv2d_weights_gradient", "mma_bf16", "cuda")
    reason = rung.invalid(stored_by(rung, HIGH, {"X_NARROW": 1})[0], rung.config(HIGH))
    assert reason == "images of 13 x 11 numbers of 16 bits end within a word"
