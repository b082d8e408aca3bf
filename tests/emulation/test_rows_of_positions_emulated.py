"""Rows of positions by warpgroups, `conv2d_weights_gradient`'s rungs, emulated on the host."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from rooftile.ops import Pool
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import preset
from tests.emulation.emulator import judged as judged_rung
from tests.emulation.emulator import missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

POOL = Pool.of("max", 4)
# More channels than a block's and maps than a product's, no whole units of pixels, padding.
RAGGED = Conv2dWeightsGradient(5, 5, 19, 23, 17, (3, 4), padding=(1, 2), pool=POOL)
# More windows across than a step's.
BROAD = Conv2dWeightsGradient(4, 3, 14, 42, 4, (7, 7), pool=POOL)
# Four pairs of rows of positions, and two kinds of blocks.
TALL = Conv2dWeightsGradient(4, 6, 33, 20, 33, (2, 3), pool=Pool.of("max", (8, 2)))
# One pair, which both warpgroups have, of every other image; vectors of two pixels.
SQUARES = Conv2dWeightsGradient(5, 1, 15, 22, 5, (7, 7), padding=(1, 2), pool=Pool.of("max", 2))
# Vectors of four pixels.
FOURS = Conv2dWeightsGradient(2, 5, 11, 24, 9, (4, 5), pool=POOL)
# Few multiprocessors, whose blocks have several images each.
SMALL = dataclasses.replace(preset(), multiprocessors=4)
ALONE = dataclasses.replace(preset(), multiprocessors=1)


def judged(name, problem, given, folder, config=None, wrong=None, on=SMALL, **options):
    rung = strategy("conv2d_weights_gradient", name, "cuda").on(on)
    return judged_rung(rung, problem, given, folder, config, wrong, **options)


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("warpgroups_bf16", RAGGED, {}),
        ("warpgroups_bf16", RAGGED, {"X_NARROW": 1, "DY_NARROW": 1, "WHERE_NARROW": 1}),
        ("warpgroups_tf32", RAGGED, {"WHERE_NARROW": 1}),
        ("warpgroups_fp16", BROAD, {"X_NARROW": 1}),
        ("warpgroups_tf32", BROAD, {}),
        ("warpgroups_bf16", SQUARES, {"X_NARROW": 1, "TOGETHER": 1}),
        ("warpgroups_tf32", SQUARES, {}),
        ("warpgroups_fp16", FOURS, {"X_NARROW": 1, "WHERE_NARROW": 1}),
        ("warpgroups_tf32", FOURS, {"TOGETHER": 1}),
        ("warpgroups_fp16", TALL, {"DY_NARROW": 1}),
        ("warpgroups_tf32", TALL, {}),
    ],
)
def test_rows_of_positions(name, problem, config, tmp_path):
    verdict = judged(name, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize(("problem", "room"), [(RAGGED, 52), (SQUARES, 120)])
def test_two_stages_where_three_find_no_room(problem, room, tmp_path):
    on = dataclasses.replace(SMALL, multiprocessors=1, block_shared_bytes=room * 1024)
    rung = strategy("conv2d_weights_gradient", "warpgroups_tf32", "cuda")
    config = rung.config(problem)
    assert [one.macros(problem, config)["STAGES"] for one in (rung, rung.on(on))] == [3, 2]
    verdict = judged("warpgroups_tf32", problem, problem.random(3), tmp_path, on=on)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["warpgroups_bf16", "warpgroups_tf32"])
@pytest.mark.parametrize("kind", ["infinities", "NaN", "zeros", "many decades"])
def test_infinities_reach_the_weights_of_their_positions_alone(name, kind, tmp_path):
    verdict = judged(name, RAGGED, RAGGED.hard(1)[kind], tmp_path)
    assert verdict.passed, verdict


def with_ranges(problem, spread):
    """Images, and their gradients, whose magnitudes are far apart; in every one a map and a channel
    that are zero."""
    x, dy, where = problem.random(3)
    generator = np.random.default_rng(4)
    for some in x, dy:
        some *= np.float32(2) ** generator.integers(-spread, spread + 1, (len(x), 1, 1, 1))
    x[:, 1:2], dy[:, 2] = 0, 0
    return x, dy, where


def with_small_pixels(problem):
    """Pixels so small that their splits miss a part of them, beside one that is large, but meets no
    gradient."""
    x, dy, where = problem.random(3)
    x *= np.float32(2**-30)
    x[:, 0, 0, 0], dy[:, :, 0, 0] = 1, 0
    return x, dy, where


def with_small_gradients(problem):
    """The same of gradients; an image has the largest ones, which meet no pixel."""
    x, dy, where = problem.random(3)
    dy *= np.float32(2**-30)
    x[1], dy[1] = 0, 0
    x[1, 0, 0, 0], dy[1, :, -1, -1] = 1, 1
    return x, dy, where


NO_NEW_SUMS = ("float sum = share(x, dy, where, map, tap, images);", "float sum = 1.0f;")


@pytest.mark.parametrize("problem", [RAGGED, SQUARES])
@pytest.mark.parametrize("spread", [0, 1])
def test_of_ordinary_images_nothing_is_made_anew(problem, spread, tmp_path):
    problem = dataclasses.replace(problem, images=9, channels=4)
    given = with_ranges(problem, spread)
    verdict = judged("warpgroups_tf32", problem, given, tmp_path, wrong=NO_NEW_SUMS, on=ALONE)
    assert verdict.passed, verdict


@pytest.mark.parametrize("problem", [RAGGED, SQUARES])
@pytest.mark.parametrize("spread", [15, 40])
def test_images_far_apart_have_scales_of_their_own(problem, spread, tmp_path):
    problem = dataclasses.replace(problem, images=9)
    verdict = judged("warpgroups_tf32", problem, with_ranges(problem, spread), tmp_path, on=ALONE)
    assert verdict.passed, verdict


@pytest.mark.parametrize("small", [with_small_pixels, with_small_gradients])
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e15])
def test_small_numbers_keep_their_bits(small, scale, tmp_path):
    x, dy, where = small(RAGGED)
    given = x * np.float32(scale), dy * np.float32(scale), where
    right, wrong = (tmp_path / folder for folder in ("right", "wrong"))
    right.mkdir(), wrong.mkdir()
    verdict = judged("warpgroups_tf32", RAGGED, given, right)
    assert verdict.passed, verdict
    assert not judged("warpgroups_tf32", RAGGED, given, wrong, wrong=NO_NEW_SUMS).passed


IN_TURN = ("warpgroups_bf16", "warpgroups_tf32")
WRONG_POSITIONS = (
    ("+ WARP_ROW / TILE_MAPS;", ";"),
    ("PLAIN_DESCRIPTOR(from, WINDOWS_APART)", "PLAIN_DESCRIPTOR(from, (WINDOWS_APART) / 2)"),
    ("(1 + pair * 2) * ROW_BYTES", "ROW_BYTES"),
    ("where, n + AHEAD * across,", "where, n,"),
    ("words_of(stage + GRADIENTS_AT, first + k + 1", "words_of(stage + GRADIENTS_AT, first + k"),
    ("15u << 4 * window", "15u << 4 * (window ^ 1)"),
    ("bias += lay_image", "lay_image"),
    ("|= row % 2 <<", "|= row / 2 % 2 <<"),
    ("w % 4 * WINDOW_BYTES", "(w + 1) % 4 * WINDOW_BYTES"),
)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *zip(itertools.cycle(IN_TURN), WRONG_POSITIONS, strict=False),
        (
            "warpgroups_bf16",
            ("pack(__uint_as_float((one)[v]),", "pack(__uint_as_float((one)[0]),"),
        ),
    ],
)
def test_wrong_rows_of_positions_are_caught(name, wrong, tmp_path):
    assert not judged(name, RAGGED, RAGGED.random(3), tmp_path, wrong=wrong).passed


@pytest.mark.parametrize(
    ("problem", "wrong"),
    [
        (TALL, ("KIND == 0 ? all : 0.0f", "all")),
        (SQUARES, ("if (IN_TURN && WARPGROUP) advance(&pipe, STAGES);", "")),
    ],
)
def test_kinds_and_turns_that_are_wrong_are_caught(problem, wrong, tmp_path):
    assert not judged("warpgroups_fp16", problem, problem.random(3), tmp_path, wrong=wrong).passed


@pytest.mark.parametrize(
    "wrong",
    [
        ("sum[e] *= shrinking;", ";"),
        ("exponent < before", "0"),
        ("gradients = min(scales->product - pixels, gradients);", ""),
        ("unscaled(sum[e + 1], exponent)", "unscaled(sum[e + 1], exponent + 1)"),
        (
            "lay_pixels(pixels, scale.pixels, stage)",
            "lay_pixels(pixels, 0.5f * scale.pixels, stage)",
        ),
    ],
)
def test_wrong_scales_are_caught(wrong, tmp_path):
    problem = dataclasses.replace(RAGGED, images=9)
    given = with_ranges(problem, 15)
    assert not judged("warpgroups_tf32", problem, given, tmp_path, wrong=wrong, on=ALONE).passed


@pytest.mark.parametrize(
    ("small", "wrong"),
    [
        (with_small_pixels, ("scales->found |= SMALL_PIXEL", "0")),
        (with_small_gradients, ("shrunk || some_small(own.gradients, gradients)", "shrunk")),
        (
            with_small_pixels,
            ("range->before = min(range->before, 2 * __float_as_uint(value) - 1)", "0"),
        ),
        (with_small_pixels, ("total.doubt * 0x1p26f", "total.doubt")),
        (with_small_gradients, ("own[COLUMNS_ALL + channel] : 0.0f", "0.0f : 0.0f")),
    ],
)
def test_who_loses_small_numbers_is_caught(small, wrong, tmp_path):
    assert not judged("warpgroups_tf32", RAGGED, small(RAGGED), tmp_path, wrong=wrong).passed


def test_warps_that_lay_and_warps_that_multiply_wait_for_each_other(tmp_path):
    name, config = "warpgroups_bf16", {"X_NARROW": 1, "DY_NARROW": 1, "WHERE_NARROW": 1}
    given = RAGGED.random(3)
    right, scaled, early, stuck = (tmp_path / f for f in ("right", "scaled", "early", "stuck"))
    for folder in (right, scaled, early, stuck):
        folder.mkdir()
    options = {"sanitizer": "thread"}
    verdict = judged(name, RAGGED, given, right, config, **options)
    assert verdict.passed, verdict
    assert judged("warpgroups_tf32", RAGGED, given, scaled, on=ALONE, **options).passed
    with pytest.raises(AssertionError, match="data race"):
        judged(
            "warpgroups_tf32", RAGGED, given, scaled, wrong=("odd ^= 1;", ""), on=ALONE, **options
        )
    unawaited = ("producer_acquire(barriers, pipe, STAGES);", "")
    with pytest.raises(AssertionError, match="data race"):
        judged(name, RAGGED, given, early, config, unawaited, **options)
    untold = ("done = EMPTY_BARRIER(barriers, pipe.stage, STAGES);", "")
    with pytest.raises(AssertionError, match="wait for each other"):
        judged(name, RAGGED, given, stuck, config, untold, on=ALONE)
