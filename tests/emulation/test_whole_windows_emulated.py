"""Whole windows by warpgroups, `conv2d_input_gradient`'s rungs, emulated on the host."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.ops import Pool
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import preset
from tests.emulation.emulator import judged, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

# The second layer of lenet5.
LENET = Conv2dInputGradient(3, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4))
# Channels and maps of more than one group, zeros around the image, windows of two columns.
PADDED = Conv2dInputGradient(2, 5, 16, 16, 19, (3, 4), padding=(1, 2), pool=Pool.of("max", 2))
# One map and channel; a mask of fewer rows than a window.
THIN = Conv2dInputGradient(3, 1, 16, 32, 1, (2, 8), pool=Pool.of("max", 4))
# Windows of unequal sides; rows of an odd number of pixels, and of windows that are not there.
UNEVEN = Conv2dInputGradient(3, 2, 24, 15, 33, (4, 3), pool=Pool.of("max", (3, 2)))
# Whole lines of 16 bits, and more rows of pixels than windows reach.
HIGH = Conv2dInputGradient(2, 3, 36, 16, 40, (5, 5), padding=(2, 2), pool=Pool.of("max", (8, 2)))
# Two pairs of positions beside each other, and rows that all positions reach.
FOURS = Conv2dInputGradient(4, 2, 16, 24, 19, (5, 5), pool=Pool.of("max", 4))
# One multiprocessor, whose two warpgroups take several images in turns.
SMALL = dataclasses.replace(preset(), multiprocessors=1)


def rung(name):
    return strategy("conv2d_input_gradient", name, "cuda").on(SMALL)


def with_small_numbers(problem):
    """Gradients and weights that alone reach a pixel, so small that their splits miss a third of
    them, beside one of each that is large."""
    dy, where, weights = (np.zeros_like(array) for array in problem.random(3))
    where += problem.random(3)[1][:, :1]
    small = np.float32(1.49 * 2**-38)
    dy[:, -1, 0, 0], weights[-1, :, 1, 1] = 1, 1
    dy[:, :2, 2, 3], weights[:2, 0, 2, 2] = small, 1
    dy[:, 3:12, 3, 6], weights[3:12, 1, 0, 0] = 1, small
    return dy, where, weights


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("warpgroups_bf16", LENET, {"OUT_NARROW": 1, "WHERE_NARROW": 1}),
        ("warpgroups_tf32", LENET, {}),
        ("warpgroups_ieee", LENET, {"WHERE_NARROW": 1}),
        ("warpgroups_ieee", PADDED, {}),
        ("warpgroups_ieee", FOURS, {"WHERE_NARROW": 1}),
        ("warpgroups_ieee", UNEVEN, {"WHERE_NARROW": 1}),
        ("warpgroups_ieee", dataclasses.replace(HIGH, batch=5), {"WHERE_NARROW": 1}),
        ("warpgroups_fp16", PADDED, {"WHERE_NARROW": 1}),
        ("warpgroups_tf32", PADDED, {"WHERE_NARROW": 1}),
        ("warpgroups_bf16", THIN, {"DY_NARROW": 1}),
        ("warpgroups_tf32", THIN, {"WHERE_NARROW": 1}),
        ("warpgroups_bf16", UNEVEN, {}),
        (
            "warpgroups_bf16",
            dataclasses.replace(LENET, batch=2, mask=(1, 1), height=32, width=32),
            {},
        ),
        ("warpgroups_tf32", UNEVEN, {"WHERE_NARROW": 1}),
        ("warpgroups_fp16", HIGH, {"OUT_NARROW": 1, "DY_NARROW": 1, "WHERE_NARROW": 1}),
        ("warpgroups_tf32", dataclasses.replace(HIGH, batch=5), {}),
        ("warpgroups_bf16", dataclasses.replace(LENET, batch=6), {"OUT_NARROW": 1}),
    ],
)
def test_whole_windows(name, problem, config, tmp_path):
    verdict = judged(rung(name), problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["warpgroups_bf16", "warpgroups_tf32", "warpgroups_ieee"])
@pytest.mark.parametrize("kind", ["infinities", "NaN", "many decades"])
@pytest.mark.parametrize("narrow", [0, 1])
def test_infinities_reach_what_they_met_alone(name, kind, narrow, tmp_path):
    problem = dataclasses.replace(PADDED, batch=4)
    config = {"WHERE_NARROW": narrow}
    verdict = judged(rung(name), problem, problem.hard(1)[kind], tmp_path, config)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["warpgroups_bf16", "warpgroups_tf32", "warpgroups_ieee"])
def test_threads_wait_for_each_other(name, tmp_path):
    problem = dataclasses.replace(PADDED, batch=4)
    given = with_small_numbers(problem)
    verdict = judged(rung(name), problem, given, tmp_path, sanitizer="thread")
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "wrong",
    [
        ("TMA_STORE_WAIT(0);\n    together(threadIdx.x / 128);", "TMA_STORE_WAIT(0);"),
        (
            "fence_proxy_async();\n        together(group);\n        if (n >=",
            "fence_proxy_async(); if (n >=",
        ),
    ],
)
def test_who_does_not_wait_is_caught(wrong, tmp_path):
    problem = dataclasses.replace(PADDED, batch=8)
    given = problem.random(3)
    with pytest.raises(AssertionError, match="data race"):
        judged(rung("warpgroups_tf32"), problem, given, tmp_path, None, wrong, sanitizer="thread")


@pytest.mark.parametrize(
    "wrong",
    [
        ("i < WINDOW_HEIGHT - 1 || i >= MASK_HEIGHT", "i < WINDOW_HEIGHT - 1"),
        ("0x80000000u >> position[1]", "0x80000000u >> position[0]"),
        ("threadIdx.x % 32 < 4 ? 0.0f : 1.0f", "1.0f"),
        ("lane / 4 == TILE - 1", "0"),
        ("if (warp == 0) return;", "return;"),
        ("i >= OWN_LINES && warp < 3", "i >= OWN_LINES"),
        ("channel = along / 2", "channel = 0"),
        ("n + 2 * gridDim.x, images);\n        float", "n, images);\n        float"),
    ],
)
def test_wrong_texts_are_caught(wrong, tmp_path):
    problem = dataclasses.replace(PADDED, batch=4)
    assert not judged(
        rung("warpgroups_bf16"), problem, problem.random(3), tmp_path, wrong=wrong
    ).passed


@pytest.mark.parametrize(
    "wrong",
    [
        ("< INFINITY) || held->unit != held->unit", "< INFINITY)"),
        ("!(ROUND(__uint_as_float(most)) < INFINITY) ||", ""),
    ],
)
def test_who_does_not_notice_infinities_is_caught(wrong, tmp_path):
    problem = dataclasses.replace(PADDED, batch=6)
    dy, where, weights = problem.random(3)
    where_infinite = weights if "held" in wrong[0] else dy
    where_infinite[-1, 0, 1] = float("inf")
    given = dy, where, weights
    assert not judged(rung("warpgroups_fp16"), problem, given, tmp_path, wrong=wrong).passed


@pytest.mark.parametrize("name", ["warpgroups_tf32", "warpgroups_ieee"])
@pytest.mark.parametrize("problem", [PADDED, dataclasses.replace(HIGH, batch=3)])
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e15])
def test_small_numbers_keep_their_bits(name, problem, scale, tmp_path):
    dy, where, weights = with_small_numbers(problem)
    given = dy * np.float32(scale), where, weights * np.float32(scale)
    verdict = judged(rung(name), problem, given, tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize(("name", "small"), [("warpgroups_tf32", 1e-12), ("warpgroups_ieee", 1e-8)])
def test_more_small_weights_than_may_be_added_apart(name, small, tmp_path):
    dy, where, weights = PADDED.random(3)
    weights[:, ::2] *= np.float32(small)
    verdict = judged(rung(name), PADDED, (dy, where, weights), tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["warpgroups_tf32", "warpgroups_ieee"])
def test_gradients_of_many_magnitudes(name, tmp_path):
    dy, where, weights = PADDED.random(3)
    dy *= np.float32(2) ** -np.random.default_rng(5).integers(0, 31, dy.shape).astype(np.float32)
    verdict = judged(rung(name), PADDED, (dy, where, weights), tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "wrong",
    [
        ("low[k] = pack(scaled[0] - widened(found.high[k]),", "low[k] = pack(0,"),
        ("low[k] = pack(scaled[0] - first,", "low[k] = pack(0,"),
        ("along % 2 - column", "along % 2"),
        ("multiply(sum, row, column, 0, low[half], with_high, own.columns);", ""),
        ("group == 0, high[half], with_low", "group == 0, high[half], with_high"),
        ("!first || column > 0 || row > 0", "!first || row > 0"),
        ("d < column + MASK_WIDTH / 2);", "d <= column + MASK_WIDTH / 2);"),
        ("+ DOWN;", ";"),
        ("held->unit * over(0, found.scale)", "0x1p-28f"),
        ("2 + position[1] % 2", "2 + position[0] % 2"),
        ("lane % 2 ? columns[1] : columns[0]", "columns[0]"),
        ("q = first_q - v", "q = first_q"),
        ("0x80000000u >> position[1]", "0x80000000u >> position[0]"),
        ("column, group == 0,", "column, 1,"),
        ("most = max(most, ranges[warp].most)", "most = ranges[3].most"),
        ("measure(later, ranges[group]);", ""),
    ],
)
def test_wrong_splits_are_caught(wrong, tmp_path):
    dy, where, weights = FOURS.random(3)
    dy[:, 2] *= 1000
    dy *= np.float32(1000) ** np.arange(4, dtype=np.float32)[:, None, None, None]
    given = dy, where, weights
    assert not judged(rung("warpgroups_ieee"), FOURS, given, tmp_path, wrong=wrong).passed


@pytest.mark.parametrize("name", ["warpgroups_tf32", "warpgroups_ieee"])
@pytest.mark.parametrize(
    "wrong",
    [
        ("found.small = before <", "found.small = 0 && before <"),
        ("before = min(before, ranges[warp].before)", "before = ranges[3].before"),
        ("return ROUND(value) - held_value(value, scale)", "return ROUND(value)"),
        ("missed(weight, held->scale)", "0"),
        ("held->count = count;", "held->count = 0;"),
    ],
)
def test_who_loses_small_numbers_is_caught(name, wrong, tmp_path):
    problem = dataclasses.replace(PADDED, batch=4)
    given = with_small_numbers(problem)
    assert not judged(rung(name), problem, given, tmp_path, wrong=wrong).passed
