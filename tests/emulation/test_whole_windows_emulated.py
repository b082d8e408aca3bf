"""Whole windows by warpgroups, `conv2d_input_gradient`'s rungs, emulated on the host."""

from __future__ import annotations

import dataclasses

import pytest
from emulator import judged, missing

from rooftile.ops import Pool
from rooftile.ops.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies import strategy
from rooftile.strategies.machine import preset

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
# One multiprocessor, whose two warpgroups take several images in turns.
SMALL = dataclasses.replace(preset(), multiprocessors=1)


def rung(name):
    return strategy("conv2d_input_gradient", name, "cuda").on(SMALL)


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("warpgroups_bf16", LENET, {"OUT_NARROW": 1, "WHERE_NARROW": 1}),
        ("warpgroups_tf32", LENET, {}),
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


@pytest.mark.parametrize("name", ["warpgroups_bf16", "warpgroups_tf32"])
@pytest.mark.parametrize("kind", ["infinities", "NaN", "many decades"])
@pytest.mark.parametrize("narrow", [0, 1])
def test_infinities_reach_what_they_met_alone(name, kind, narrow, tmp_path):
    problem = dataclasses.replace(PADDED, batch=4)
    config = {"WHERE_NARROW": narrow}
    verdict = judged(rung(name), problem, problem.hard(1)[kind], tmp_path, config)
    assert verdict.passed, verdict


def test_threads_wait_for_each_other(tmp_path):
    problem = dataclasses.replace(PADDED, batch=4)
    given = problem.random(3)
    verdict = judged(rung("warpgroups_bf16"), problem, given, tmp_path, sanitizer="thread")
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "wrong",
    [
        ("i < WINDOW_HEIGHT - 1 || i >= MASK_HEIGHT", "i < WINDOW_HEIGHT - 1"),
        ("found.won[k] = bit[0] | bit[1] << 16", "found.won[k] = bit[0] | bit[0] << 16"),
        ("threadIdx.x % 32 < 4 ? 0.0f : 1.0f", "1.0f"),
        ("lane / 4 == TILE - 1", "0"),
        ("warp > 0 ? own - LINE_AT(0, SHARED_LINES) : none", "none"),
        ("% CHUNKS * 2 + along / 4 - column", "% CHUNKS * 2 + along / 4"),
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
        ("if (hard) doubtful[group][half] = 1;", ""),
        ("doubtful[group][half ^ 1] = doubt;", "doubtful[group][half ^ 1] = 0;"),
    ],
)
def test_who_does_not_notice_infinities_is_caught(wrong, tmp_path):
    problem = dataclasses.replace(PADDED, batch=6)
    dy, where, weights = problem.random(3)
    where_infinite = dy if "hard" in wrong[0] else weights
    where_infinite[-1, 0, 1] = float("inf")
    given = dy, where, weights
    assert not judged(rung("warpgroups_fp16"), problem, given, tmp_path, wrong=wrong).passed
