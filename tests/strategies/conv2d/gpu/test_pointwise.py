"""Masks of one tap on tensor cores: any sizes, layouts and configs, what they refuse."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d
from rooftile.strategies import strategy
from tests.support.hard_inputs import HARD
from tests.support.ladder_checks import check, check_hard, draw_config, examples
from tests.support.some_gpu import some_gpu
from tests.support.storage import stored_by

RUNGS = [strategy("conv2d", f"pointwise_{p}", "cuda") for p in ("fp16", "bf16", "tf32", "ieee")]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)

SQUARE = Conv2d(2, 64, 16, 16, 64, (1, 1))
OFF_GRID = Conv2d(3, 70, 5, 11, 19, (1, 1), activation="relu")
MANY_MAPS = Conv2d(1, 24, 9, 8, 200, (1, 1), activation="tanh")
ONE_PIXEL = Conv2d(5, 129, 1, 1, 3, (1, 1))
PROBLEMS = (SQUARE, OFF_GRID, MANY_MAPS, ONE_PIXEL)
FORMS = [
    {"X_LAST": 1, "OUT_LAST": 1},
    {"X_NARROW": 1, "OUT_NARROW": 1},
    {"X_NARROW": 1, "X_LAST": 1, "OUT_NARROW": 1, "OUT_LAST": 1},
]

problems = st.builds(
    Conv2d,
    st.integers(1, 5),
    st.integers(40, 150),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 140),
    st.just((1, 1)),
    activation=st.sampled_from(["none", "relu", "sigmoid"]),
)


@each_rung
@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
def test_is_right(rung, specials, cuda_device):
    for problem in PROBLEMS:
        if rung.why_not(problem) is None:
            check(rung, problem, cuda_device, seed=1, specials=specials)


@each_rung
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_problem_with_any_config(rung, cuda_device, data):
    problem = data.draw(problems.filter(lambda problem: rung.why_not(problem) is None))
    check(rung, problem, cuda_device, config=draw_config(rung, problem, data.draw))


@each_rung
@pytest.mark.parametrize("forms", FORMS, ids=lambda forms: " ".join(forms))
@pytest.mark.parametrize("problem", [SQUARE, OFF_GRID], ids=["square", "off the grid"])
def test_arrays_as_callers_have_them(rung, problem, forms, cuda_device):
    if not rung.narrow and "X_NARROW" in forms:
        forms = {"OUT_LAST": 1}
    stored, _ = stored_by(rung, problem, forms)
    verdict = verify(stored, rung, device=cuda_device)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", HARD)
def test_split_products_have_float32s_error(kind, cuda_device):
    check_hard(RUNGS[-1], SQUARE, kind, cuda_device, seed=1)


@each_rung
def test_what_it_does_not_take(rung):
    assert "one tap" in rung.why_not(replace(SQUARE, mask=(1, 3)))
    for other in ({"stride": (1, 2)}, {"padding": (1, 0)}):
        assert next(iter(other)) in rung.why_not(replace(SQUARE, **other))
    assert "8192 products" in rung.why_not(replace(SQUARE, channels=8193))
    for config, reason in (
        ({"WARPS_R": 2, "WARPS_C": 16}, "1024 threads a block"),
        ({"WARP_C": 64, "WARPS_C": 8, "WARPS_R": 1, "STAGES": 4, "BLOCKS": 3}, "3 blocks of"),
    ):
        with pytest.raises(InputError, match=reason):
            rung.compile(SQUARE, some_gpu("sm_90"), config)
