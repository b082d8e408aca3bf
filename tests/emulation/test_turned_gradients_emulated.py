"""Gradients of few maps, pixels as a product's rows, emulated on the host."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from rooftile.ops import Pool
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import preset
from tests.emulation.emulator import emulate, missing
from tests.emulation.emulator import judged as judged_rung
from tests.support.storage import stored_by

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

# The masks of the first layer of lenet5; all windows of a strip and of a part are there.
WHOLE = Conv2dWeightsGradient(3, 1, 14, 22, 4, (7, 7), pool=Pool.of("max", 2))
# A second strip of two windows, parts of unequal rows, zeros around the image.
PADDED = Conv2dWeightsGradient(5, 1, 15, 22, 3, (7, 7), padding=(2, 2), pool=Pool.of("max", 2))
# Channels and groups of maps; windows of two pairs of rows, of which a mask meets half a pair.
HIGH = Conv2dWeightsGradient(2, 2, 19, 12, 5, (4, 5), padding=(1, 2), pool=Pool.of("max", (4, 2)))
# Windows of four columns; images that are no whole words of 16 bits; odd padding.
FLAT = Conv2dWeightsGradient(2, 1, 9, 15, 2, (3, 5), padding=(0, 3), pool=Pool.of("max", (2, 4)))
# An odd width without padding.
ODD = Conv2dWeightsGradient(3, 1, 9, 19, 4, (2, 4), pool=Pool.of("max", 2))
# Its blocks take several images, one after another.
SMALL = dataclasses.replace(preset(), multiprocessors=1)
NARROW = {"X_NARROW": 1, "DY_NARROW": 1, "WHERE_NARROW": 1}
OF_IMAGES = strategy("conv2d_weights_gradient", "turned_tf32_in_fp16", "cuda")


def judged(name, problem, given, folder, config=None, wrong=None, **options):
    rung = strategy("conv2d_weights_gradient", name, "cuda").on(SMALL)
    return judged_rung(rung, problem, given, folder, config, wrong, **options)


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("turned_bf16", WHOLE, NARROW),
        ("turned_fp16", WHOLE, {"BLOCKS": 1, "SEGMENTS": 2}),
        ("turned_bf16", PADDED, NARROW | {"STAGES": 3}),
        ("turned_bf16", PADDED, {"SEGMENTS": 1}),
        ("turned_fp16", PADDED, {"X_NARROW": 1, "SEGMENTS": 4}),
        ("turned_fp16", HIGH, NARROW | {"SEGMENTS": 1}),
        ("turned_bf16", HIGH, {"DY_NARROW": 1}),
        ("turned_bf16", FLAT, {"WHERE_NARROW": 1}),
        ("turned_bf16", ODD, {"DY_NARROW": 1, "WHERE_NARROW": 1}),
        ("turned_fp16", dataclasses.replace(FLAT, images=1, maps=1), {}),
        ("turned_bf16", PADDED, NARROW | {"STAGES": 1}),
        ("turned_tf32", WHOLE, {"WHERE_NARROW": 1}),
        ("turned_tf32", WHOLE, {"STAGES": 3}),
        ("turned_tf32", PADDED, {"WHERE_NARROW": 1, "STAGES": 1}),
        ("turned_tf32", PADDED, {"SEGMENTS": 4}),
        ("turned_tf32", HIGH, {"WHERE_NARROW": 1}),
        ("turned_tf32", FLAT, {"SEGMENTS": 1, "BLOCKS": 1, "STAGES": 2}),
        ("turned_tf32", dataclasses.replace(ODD, images=1, maps=1), {"WHERE_NARROW": 1}),
    ],
)
def test_pixels_as_rows(name, problem, config, tmp_path):
    verdict = judged(name, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["turned_bf16", "turned_tf32"])
@pytest.mark.parametrize("kind", ["infinities", "NaN"])
def test_infinities_reach_the_weights_that_they_met_alone(kind, name, tmp_path):
    verdict = judged(name, PADDED, PADDED.hard(1)[kind], tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", sorted(PADDED.hard(1)))
def test_hard_inputs_whose_places_have_8_bits(kind, tmp_path):
    given = PADDED.hard(1)[kind]
    verdict = judged("turned_tf32", PADDED, given, tmp_path, {"WHERE_NARROW": 1})
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "wrong",
    [
        ("0x9988 : 0xbbaa", "0x9988 : 0x9988"),
        ("(turn + DEPTH - j) % DEPTH;", "(turn + j) % DEPTH;"),
        ("half++, corner += PART *", "half++, corner += (PART + 1) *"),
        ("there[k] |= made", "there[k] = made"),
        ("m * GIVEN_PITCH * PLACE_SIZE,", "0,"),
        ("at + rank * piece >= bytes) break;", "at + rank * piece >= bytes / 2) break;"),
        ("if (COLUMNS % 8 > 0 && column >= COLUMNS) continue;", ""),
        ("i % 2 * 4 + j / 2", "j / 2"),
        ("turn ? turn - 1 : STAGES - 1", "turn"),
    ],
)
def test_wrong_texts_are_caught(wrong, tmp_path):
    given = PADDED.random(3)
    assert not judged("turned_bf16", PADDED, given, tmp_path, {"STAGES": 2}, wrong=wrong).passed


@pytest.mark.parametrize(
    "wrong",
    [
        ("0x8888 + k * 0x1111", "0x8888"),
        ("pixels + 4 * fold", "pixels"),
        ("winners[kept][t] + 2 * fold", "winners[kept][t]"),
        ("own[2] = WORD(next.x, window.x)", "own[2] = WORD(window.x, next.x)"),
        ("made[1] = WORD(two.y, two.x)", "made[1] = WORD(two.x, two.y)"),
        ("gradients + half * FOLDS", "gradients"),
        ("COPIES_DONE();\n            __syncthreads();", "COPIES_DONE();"),
    ],
)
def test_wrong_texts_in_tf32_are_caught(wrong, tmp_path):
    config = {"WHERE_NARROW": 1, "BLOCKS": 1, "STAGES": 1}
    given = PADDED.random(3)
    assert not judged("turned_tf32", PADDED, given, tmp_path, config, wrong=wrong).passed


def of_images(problem, given, folder, config=None, wrong=None):
    """The verdict on what reads images of float16 at tf32."""
    x, *others = given
    with np.errstate(over="ignore"):
        x = x.astype(np.float16).astype(np.float32)
    rung = OF_IMAGES.on(SMALL)
    return judged_rung(rung, problem, (x, *others), folder, config, wrong)


@pytest.mark.parametrize(
    ("problem", "config"),
    [
        (WHOLE, {"WHERE_NARROW": 1}),
        (PADDED, {"STAGES": 3}),
        (PADDED, {"WHERE_NARROW": 1, "SEGMENTS": 4, "STAGES": 1}),
        (HIGH, {"SEGMENTS": 1}),
        (dataclasses.replace(FLAT, width=16, padding=(0, 2)), {}),
    ],
)
def test_images_of_float16_at_tf32(problem, config, tmp_path):
    verdict = of_images(problem, problem.random(3), tmp_path, config)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", sorted(PADDED.hard(1)))
def test_hard_inputs_beside_images_of_float16(kind, tmp_path):
    verdict = of_images(PADDED, PADDED.hard(1)[kind], tmp_path)
    assert verdict.passed, verdict


def apart():
    """Images whose gradients are 2^30 and 2^60 apart, one without any; the larger ones meet few
    pixels, or none, so that smaller ones count."""
    x, dy, where = dataclasses.replace(WHOLE, images=6).random(5)
    for number, exponent in enumerate((0, 30, -60, -130)):
        dy[number] = np.ldexp(dy[number], exponent)
    dy[4] = 0
    x[1] *= np.random.default_rng(5).random(x[1].shape) < 0.02
    x[:, :, :, :11] *= np.arange(6)[:, None, None, None] == 2
    x[:, :, 9:] *= np.arange(6)[:, None, None, None] == 3
    return x, dy, where


def within():
    """An image of gradients of many sizes, of which the largest meet no pixel."""
    x, dy, where = dataclasses.replace(WHOLE, images=1).random(5)
    dy[:] = np.ldexp(dy, np.random.default_rng(5).integers(-70, 5, dy.shape))
    dy[:, :, :, :2] = np.ldexp(dy[:, :, :, :2], 30)
    x[:, :, :, :11] = 0
    return x, dy, where


def off(rung, folder):
    """How far gradients are from float64, of what their terms' magnitudes sum up to: the judge
    itself lets pass what is less than 2^-40 of the largest."""
    found = []
    for x, *others in (apart(), within()):
        given = x.astype(np.float16).astype(np.float32), *others
        problem = dataclasses.replace(WHOLE, images=len(x))
        made = emulate(rung, problem, given, (), None, folder)
        known = zip(made, problem.reference(*given), problem.magnitude(*given), strict=True)
        found += [(np.abs(a - b) / np.maximum(most, 2.0**-120)).max() for a, b, most in known]
    return max(found)


def test_gradients_of_any_size(tmp_path):
    assert off(OF_IMAGES.on(SMALL), tmp_path) < 2.0**-11


@pytest.mark.parametrize(
    "wrong",
    [
        ("up / sizes->up)) - 1", "up / sizes->up)) + (1 << 23)"),
        ("up <= sizes->up) return false;", "up > 0.0f) return false;"),
        ("sum[pair][t][e] *= ratio;", ";"),
        ("*bias *= ratio;", ""),
        ("bring(sum, &bias, &unit, 1.0f);", ""),
        ("*before = min(*before,", "*before = max(*before,"),
    ],
)
def test_wrong_sizes_are_caught(wrong, tmp_path):
    rung = copy.copy(OF_IMAGES.on(SMALL))
    text = rung.whole_text
    assert wrong[0] in text
    rung.__dict__["text"] = text.replace(*wrong)
    assert not off(rung, tmp_path) < 2.0**-11


@pytest.mark.parametrize(
    ("change", "why"),
    [({"width": 23}, "rows of 23 pixels of 16 bits"), ({"height": 13}, "no whole fours")],
)
def test_what_is_copied_in_fewer_bits_is_whole_words(change, why):
    rung = strategy("conv2d_weights_gradient", "turned_bf16", "cuda")
    problem = dataclasses.replace(PADDED, **change)
    assert why in rung.invalid(stored_by(rung, problem, NARROW)[0], rung.config(problem))
