"""The gathered matrix product: any few channels, layouts, packed weights, what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.verify import random_inputs, verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from tests.support.hard_inputs import HARD
from tests.support.ladder_checks import PROBLEMS, check, check_hard, draw_config, examples, problems
from tests.support.some_gpu import some_gpu
from tests.support.storage import stored_by

RUNGS = [strategy("conv2d", f"gathered_gemm_{p}", "cuda") for p in ("fp16", "bf16", "tf32", "ieee")]
IEEE = RUNGS[-1]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)

STRIDED = Conv2d(3, 3, 61, 70, 20, (11, 11), (4, 4), (2, 2))
FEW = Conv2d(37, 6, 14, 14, 16, (5, 5), activation="relu")
POOLED = Conv2d(2, 3, 64, 66, 40, (7, 7), (2, 2), (3, 3), "relu", Pool.of("max", 3, 2))
FORMS = [
    {"X_LAST": 1, "OUT_LAST": 1},
    {"X_NARROW": 1, "OUT_NARROW": 1},
    {"X_NARROW": 1, "X_LAST": 1, "OUT_NARROW": 1, "OUT_LAST": 1},
]


def taken(rung, problems_of):
    return [problem for problem in problems_of if rung.why_not(problem) is None]


@each_rung
@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
def test_few_channels(rung, specials, cuda_device):
    for problem in taken(rung, (*PROBLEMS, STRIDED, FEW)):
        check(rung, problem, cuda_device, seed=1, specials=specials)


@each_rung
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_problem_with_any_config(rung, cuda_device, data):
    problem = data.draw(problems.filter(lambda problem: rung.why_not(problem) is None))
    check(rung, problem, cuda_device, config=draw_config(rung, problem, data.draw))


@each_rung
@pytest.mark.parametrize("forms", FORMS, ids=lambda forms: " ".join(forms))
@pytest.mark.parametrize("problem", [STRIDED, FEW, POOLED], ids=["strided", "few", "pooled"])
def test_arrays_as_callers_have_them(rung, problem, forms, cuda_device):
    if not rung.narrow and "X_NARROW" in forms:
        forms = {"OUT_LAST": 1}
    stored, _ = stored_by(rung, problem, forms)
    verdict = verify(stored, rung, device=cuda_device)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", HARD)
def test_split_products_have_float32s_error(kind, cuda_device):
    check_hard(IEEE, Conv2d(2, 6, 20, 24, 16, (5, 5)), kind, cuda_device, seed=1)


@each_rung
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_packed_weights_are_where_a_pixels_words_find_them(rung, data):
    """Each lane's words of each step times the inputs at their offsets make the convolution."""
    problem = data.draw(problems.filter(lambda problem: rung.why_not(problem) is None))
    config = rung.config(problem)
    macros = rung.macros(problem, config)
    _, weights, _ = random_inputs(problem, 0)
    packed = rung.pack(problem, weights, config)
    tiles, steps, sets, maps, lanes, halves, elements = packed.shape
    assert (steps, sets) == (macros["STEPS"], macros["SETS"])
    assert tiles * macros["TAP_WORDS"] * elements == packed.size
    # [map][word][element]
    words = packed.transpose(0, 2, 3, 1, 5, 4, 6).reshape(tiles * sets * maps, -1, elements)
    used = np.zeros((problem.maps, problem.channels, *problem.mask), np.float32)
    for word in range(macros["SUM_WORDS"]):
        q, p = word % macros["TAPS_RIGHT"], word // macros["TAPS_RIGHT"] % problem.mask[0]
        plane = word // (macros["TAPS_RIGHT"] * problem.mask[0])
        for e in range(elements):
            pair = macros["COLUMN_PAIRS"]
            c, right = (plane, elements * q + e) if pair else (elements * plane + e, q)
            right -= macros["SHIFT"]
            if c < problem.channels and 0 <= right < problem.mask[1]:
                used[:, c, p, right] = words[: problem.maps, word, e]
    assert np.array_equal(used, weights)
    assert np.count_nonzero(words) == np.count_nonzero(weights)
    assert math.prod((lanes, halves)) == 8


@each_rung
def test_what_it_does_not_take(rung):
    large = Conv2d(1, 2000, 40, 40, 8, (5, 5))
    with pytest.raises(UnsupportedProblem, match="even with its smallest tile"):
        rung.check(large)
    assert "sums of 64" in IEEE.why_not(Conv2d(1, 3, 9, 9, 4, (3, 3)))
    with pytest.raises(UnsupportedProblem, match="sm_80 and later"):
        rung.compile(FEW, some_gpu("sm_75"))
    for config, reason in (
        ({"TILE_MAPS": 8, "WARP_MAPS": 32}, "8 maps a tile for warps of 32"),
        ({"WARP_PIXELS": 64, "WARP_MAPS": 64, "TILE_MAPS": 64, "BLOCKS": 4}, "registers a thread"),
        ({"TILE_IMAGES": 64}, "400 tasks for 8 warps"),
    ):
        with pytest.raises(InputError, match=reason):
            rung.compile(FEW, some_gpu("sm_90"), config)
