"""Gradients of weights from queues of winners, emulated on the host."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.ops import Pool
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import preset
from tests.emulation.emulator import judged as judged_rung
from tests.emulation.emulator import missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

# The masks of lenet5's first layer, four queues; more windows than a ring holds.
FEW = Conv2dWeightsGradient(3, 1, 63, 46, 4, (7, 7), pool=Pool.of("max", 2))
# Few windows: some weights meet an infinity by windows that relu cut alone.
LITTLE = dataclasses.replace(FEW, height=23, width=26)
# The masks of its second layer: one queue, a row in each lane but four; maps and images one
# after another.
MANY = Conv2dWeightsGradient(9, 4, 18, 22, 9, (7, 7), pool=Pool.of("max", 4))
# Eight queues; zeros around the image, an odd width, windows that overlap.
PADDED = Conv2dWeightsGradient(
    2, 1, 13, 15, 3, (3, 4), padding=(1, 2), pool=Pool.of("max", (3, 2), (2, 1))
)
# Groups of channels.
GROUPS = Conv2dWeightsGradient(2, 5, 21, 19, 5, (4, 3), padding=(0, 1), pool=Pool.of("max", 2))
# A lane has a mask of its own; no lane is left over.
FLAT = Conv2dWeightsGradient(2, 1, 6, 30, 2, (1, 5), pool=Pool.of("max", (1, 2)))
SMALL = dataclasses.replace(preset(), multiprocessors=1)
NARROW = {"WHERE_NARROW": 1}


def queued():
    return strategy("conv2d_weights_gradient", "queued", "cuda").on(SMALL)


def judged(problem, given, folder, config=None, wrong=None, **options):
    return judged_rung(queued(), problem, given, folder, config, wrong, **options)


@pytest.mark.parametrize(
    ("problem", "config"),
    [
        (FEW, NARROW),
        (FEW, {"PARTS": 2}),
        (FEW, NARROW | {"TEAMS": 2, "PARTS": 2, "SPLITS": 2}),
        (dataclasses.replace(LITTLE, images=9), NARROW),
        (MANY, NARROW | {"TEAMS": 2}),
        (MANY, {"TEAMS": 1, "SPLITS": 4}),
        (PADDED, NARROW),
        (PADDED, {"TEAMS": 1, "PARTS": 8}),
        (GROUPS, NARROW),
        (GROUPS, {"TEAMS": 8}),
        (FLAT, NARROW),
        (FLAT, {}),
    ],
)
def test_queues(problem, config, tmp_path):
    verdict = judged(problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", sorted(LITTLE.hard(1)))
@pytest.mark.parametrize("config", [{}, NARROW])
def test_hard_inputs(kind, config, tmp_path):
    verdict = judged(LITTLE, LITTLE.hard(1)[kind], tmp_path, config)
    assert verdict.passed, verdict


def caught(problem, given, folder, wrong, parts=1):
    """Whether a wrong text is noticed, by what it makes or by where it reads."""
    assert wrong[0] in queued().whole_text
    try:
        return not judged(problem, given, folder, NARROW | {"PARTS": parts}, wrong).passed
    except AssertionError:
        return True


@pytest.mark.parametrize(
    "wrong",
    [
        ("& rings->before", "& rings->like"),
        ("gradients[(rings->begin + k) % RING] = 0.0f;", ""),
        ("c * LAYER - c / UNIT", "c * LAYER"),
        ("(met.column - j * UNIT) * LAYER", "0"),
        ("rings->begin += count;", ""),
        ("waiting < count ? 0 : waiting - count", "0"),
        ("apart = SHARE;", "apart = 2 * SHARE;"),
        ("there &= keep | (one.told != NO_WINNER);", "one.told &= 1;"),
        ("*bias += gradient;", "*bias += one.gradient;"),
    ],
)
def test_wrong_texts_are_caught(wrong, tmp_path):
    assert caught(FEW, FEW.random(3), tmp_path, wrong)


def test_a_part_that_is_left_out_is_noticed(tmp_path):
    wrong = ("part < PARTS; part++", "part < 1; part++")
    assert caught(FEW, FEW.random(3), tmp_path, wrong, parts=2)


@pytest.mark.parametrize(
    "wrong",
    [("(last ? ahead : n)", "n"), ("map < maps && (!last", "(!last")],
)
def test_wrong_turns_of_maps_are_caught(wrong, tmp_path):
    assert caught(MANY, MANY.random(3), tmp_path, wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        ("__syncthreads_or(beyond != 0.0f)", "__syncthreads_or(0)"),
        ("((place) == NO_WINNER ? 0 : (gradient))", "(gradient)"),
    ],
)
def test_windows_that_relu_cut_are_zeros_where_a_pixel_is_not_finite(wrong, tmp_path):
    assert caught(LITTLE, LITTLE.hard(1)["infinities"], tmp_path, wrong)


@pytest.mark.parametrize("wrong", ["__syncwarp();", "__syncthreads();"])
def test_lanes_and_warps_wait_for_each_other(wrong, tmp_path):
    config, given = NARROW | {"PARTS": 1}, FEW.random(3)
    with pytest.raises(AssertionError, match="ThreadSanitizer"):
        judged(FEW, given, tmp_path, config, (wrong, ""), sanitizer="thread")


def test_nobody_races(tmp_path):
    config, given = NARROW | {"PARTS": 2}, FEW.random(3)
    verdict = judged(FEW, given, tmp_path, config, sanitizer="thread")
    assert verdict.passed, verdict
