"""Rungs that fold the pool on warpgroups, whose teams have bands of their own, on the host."""

from dataclasses import replace

import numpy as np
import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import ERROR_MODELS, Conv2d, Pool, rounded
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import Multiprocessors
from tests.emulation.emulator import emulate, missing
from tests.support.hard_inputs import HARD, SMALL, hard, small
from tests.support.winner_positions import positions

from .test_emulated import LENET, judged, ordinary, wrong
from .test_winners_emulated import RUNGS, given, right

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

FP16, TF32, IEEE = RUNGS_OF = [
    strategy("conv2d", f"pool_folded_wgmma_{name}", "cuda") for name in ("fp16", "tf32", "ieee")
]
# Sixteen folds beside each other, so that a lane has two of a pool's window.
BESIDE = Conv2d(1, 2, 21, 36, 5, (5, 5), activation="relu", pool=Pool.of("max", (2, 4)))
WIDE = Conv2d(1, 1, 12, 35, 3, (3, 4), padding=(1, 0), pool=Pool.of("average", (4, 8)))
# The last band lacks rows.
BANDS = Conv2d(3, 2, 25, 26, 7, (6, 6), pool=Pool.of("max", 2))
ROUNDED = "back = round_band(own, tile, scales);"
each_rung = pytest.mark.parametrize("rung", RUNGS_OF, ids=lambda rung: rung.name)


@each_rung
@pytest.mark.parametrize("problem", [LENET[1][1], BESIDE, WIDE], ids=["lenet", "beside", "wide"])
def test_folds_beside_each_other_are_one_lanes(rung, problem, tmp_path):
    if rung.why_not(problem) is not None:
        pytest.skip("its sums are too short")
    assert rung.macros(problem, rung.config(problem))["BESIDE"]
    verdict = ordinary(rung, problem, tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["wgmma_bf16", "wgmma_tf32"])
@pytest.mark.parametrize("special", [None, np.nan, -np.inf])
def test_winners_of_folds_beside_each_other(name, special, tmp_path):
    x, parameters = given(BESIDE, special)
    config = {"WHERE_NARROW": 1, "BAND_ROWS": 4}
    found, told = emulate(RUNGS[f"pool_folded_{name}"], BESIDE, x, parameters, config, tmp_path)
    expected, where = right(BESIDE, x, parameters)
    np.testing.assert_array_equal(found, expected)
    cut = ~(expected > 0)
    np.testing.assert_array_equal(told, positions(BESIDE, np.where(cut, -1, where)))


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("pool", [("max", 2), ("max", 4), ("average", 4)])
def test_scaled_numbers_are_as_good_as_tf32s(kind, pool, tmp_path):
    problem = replace(BANDS, pool=Pool.of(*pool))
    verdict = judged(TF32, problem, hard(kind, problem, 1, 3), tmp_path, {"BAND_ROWS": 4})
    assert verdict.passed, verdict


def kept(rung, kind, pool, folder):
    """Whether what is far below float16's range keeps its bits where it is all that a sum has."""
    problem, x, weights, bias = small(kind, pool)
    out = emulate(rung, problem, x, (weights, bias), {}, folder)
    operands = rounded(x, "tf32"), rounded(weights, "tf32"), bias
    model = ERROR_MODELS["tf32"]
    budget = model.factor * model.unit * np.sqrt(problem.reduction) * problem.magnitude(*operands)
    return (np.abs(out - problem.reference(*operands)) <= budget).all()


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("pool", ["max", "average"])
def test_small_numbers_keep_their_bits(kind, pool, tmp_path):
    assert kept(TF32, kind, pool, tmp_path)


@pytest.mark.parametrize("kind", SMALL)
def test_bits_of_small_numbers_that_are_lost_are_noticed(kind, tmp_path):
    rung = wrong(TF32, "value = __int_as_float(0x7fffffff);", "value = value;")
    assert not kept(rung, kind, "max", tmp_path)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("subnormal", "most < LEAST_SCALED", "most < 0.0f"),
        ("rounds to infinity", "tf32(most) == INFINITY", "most == INFINITY"),
        ("wide exponents", "weights.exponents[m] -= exponent", "weights.exponents[m] -= 0"),
    ],
)
def test_wrong_scales_are_caught(kind, before, after, tmp_path):
    problem = replace(BANDS, batch=1)
    rung = wrong(TF32, before, after)
    assert not judged(rung, problem, hard(kind, problem, 1, 3), tmp_path).passed


@pytest.mark.parametrize(
    ("rung", "before", "after"),
    [
        (FP16, "e % 2 * OTHER_WINDOW", "e % 2 * PITCH"),
        (FP16, "(step + e) % PATCH_SLABS", "e % PATCH_SLABS"),
        (TF32, "raw + buffer * BAND_SIZE", "raw + 8"),
        (IEEE, "two + BAND_SIZE", "two"),
    ],
    ids=["window", "ring", "buffer", "low"],
)
def test_wrong_words_are_caught(rung, before, after, tmp_path):
    problem = LENET[1][1]
    rung = wrong(rung, before, after)
    assert not judged(rung, problem, random_inputs(problem, 0), tmp_path).passed


# Teams take several bands of five images each.
ONE = Multiprocessors(1, 65536, 233472, 232448)
FIVE = replace(BESIDE, batch=5, channels=3)


def raced(rung, config, folder):
    """The verdict on what threads have made whose accesses a sanitizer has watched."""
    x, *parameters = random_inputs(FIVE, 0)
    out = emulate(rung.on(ONE), FIVE, x, parameters, config, folder, sanitizer="thread")
    model = ERROR_MODELS[rung.precision]
    return Expected(FIVE, x, *parameters).judge(out, model)


NARROW = {"X_NARROW": 1}


@pytest.mark.parametrize(("rung", "config"), [(FP16, {}), (FP16, NARROW), (TF32, {}), (IEEE, {})])
def test_teams_do_not_race(rung, config, tmp_path):
    verdict = raced(rung, config, tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("rung", "config", "before", "after"),
    [
        (TF32, {}, f"{ROUNDED}\n        meet();", ROUNDED),
        (FP16, NARROW, "buffer ^= 1", "buffer ^= 0"),
        (IEEE, {}, f"{ROUNDED}\n        meet();", ROUNDED),
    ],
)
def test_races_are_caught(rung, config, before, after, tmp_path):
    with pytest.raises(AssertionError, match="data race"):
        raced(wrong(rung, before, after), config, tmp_path)
