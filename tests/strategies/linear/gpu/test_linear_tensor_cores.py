"""Linear on tensor cores: CUDA only, so the texts run on a GPU; each compiles without one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import UnsupportedProblem
from rooftile.lab.judge.verify import Expected, random_inputs
from rooftile.ops import Linear
from rooftile.ops.layers.linear import NAMED
from rooftile.strategies import ladder, strategy
from tests.support.compiling import MEASURED, check_compiles, check_no_spills
from tests.support.hard_inputs import HARD
from tests.support.ladder_checks import check, draw_config, examples, inputs, run
from tests.support.storage import stored_by

RUNGS = [rung for rung in ladder("linear", "cuda") if rung.devices == ("cuda",)]
NARROW = [rung for rung in RUNGS if rung.narrow]
SPLIT = [rung for rung in RUNGS if rung.precision == "ieee"]
FP16, IEEE = (strategy("linear", f"mma_{p}", "cuda") for p in ("fp16", "ieee"))
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)

PROBLEMS = (
    Linear(1, 1, 1),
    Linear(7, 33, 5, "relu"),
    # Rows of no whole 16 bytes; tiles, slices and pairs of results left over, every way.
    Linear(3, 70, 9, "sigmoid"),
    Linear(37, 129, 45),
    Linear(130, 1024, 32, "relu"),
    Linear(257, 100, 130, "tanh"),
    # Large tiles, in several parts.
    Linear(1100, 520, 1100),
    Linear(2100, 1030, 514, "relu"),
    # Rows of whole 16 bytes; the same leftovers.
    Linear(1, 64, 1),
    Linear(7, 40, 5, "relu"),
    Linear(193, 72, 49, "sigmoid"),
    Linear(300, 328, 136, "tanh"),
    Linear(2100, 1032, 514, "relu"),
)
shapes = st.builds(
    Linear, st.integers(1, 300), st.integers(1, 700) | st.integers(1, 90).map(lambda n: 8 * n),
    st.integers(1, 300),
    st.sampled_from(["none", "relu", "sigmoid"]),
)  # fmt: skip


def taken(rungs=RUNGS):
    """Every rung with every problem that it takes."""
    return [
        pytest.param(rung, problem, id=f"{rung.name}-{number}")
        for rung in rungs
        for number, problem in enumerate(PROBLEMS)
        if rung.why_not(problem) is None
    ]


def check_on(rung, problem, device, **options):
    """As `check`, where the device has the rung's instructions."""
    reason = rung.why_not_on(device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    check(rung, problem, device, **options)


@pytest.mark.parametrize(("rung", "problem"), taken())
@pytest.mark.parametrize("specials", [(), (0,), (1, 2)], ids=["finite", "input", "parameters"])
def test_is_right_and_repeatable_and_specials_propagate(rung, problem, specials, cuda_device):
    check_on(rung, problem, cuda_device, seed=1, specials=specials)


@each_rung
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_problem_with_any_config(rung, cuda_device, data):
    problem = data.draw(shapes.filter(lambda problem: rung.why_not(problem) is None))
    config = draw_config(rung, problem, data.draw)
    check_on(rung, problem, cuda_device, seed=data.draw(st.integers(0, 99)), config=config)


@pytest.mark.parametrize(("rung", "problem"), taken(NARROW))
@pytest.mark.parametrize("formats", [(0, 1), (1, 0), (1, 1)])
def test_reads_and_writes_narrow_arrays(rung, problem, formats, cuda_device):
    reason = rung.why_not_on(cuda_device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    x, *parameters = inputs(problem, 3)
    config = dict(zip(("X_NARROW", "OUT_NARROW"), formats, strict=True))
    stored, _ = stored_by(rung, problem, config)
    x = x.astype(stored.input_arrays[0].numpy)
    bound = rung.bind(stored, parameters, cuda_device)
    out = np.full(problem.output_shape, np.nan, stored.output_arrays[0].numpy)
    bound(x, out)
    verdict = Expected(stored, x, *parameters).judge(out, bound.errors)
    assert verdict.passed, verdict


@each_rung
def test_the_last_batch_may_be_partial(rung, cuda_device):
    reason = rung.why_not_on(cuda_device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    problem = Linear(500, 640, 192, "relu")
    x, *parameters = random_inputs(problem, 0)
    bound = rung.bind(problem, parameters, cuda_device)
    for images in (500, 1, 333):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, rung.precision)
        assert verdict.passed, verdict


@each_rung
def test_long_sums_of_one_sign_stay_in_the_budget(rung, cuda_device):
    reason = rung.why_not_on(cuda_device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    inputs_ = 30_011 if rung.why_not(Linear(5, 30_011, 3)) is None else 30_016
    problem = Linear(5, inputs_, 3)
    generator = np.random.default_rng(0)
    x, weights = (generator.random(shape, np.float32) for shape in ((5, inputs_), (3, inputs_)))
    bias = np.ones(3, np.float32)
    out = run(rung.bind(problem, (weights, bias), cuda_device), x)
    assert Expected(problem, x, weights, bias).judge(out, rung.precision).passed


KINDS = {**HARD, "subnormal weights": lambda g, x, w: (x, w * np.float32(2.0**-122))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inputs_", [64, 256, 6272])
@pytest.mark.parametrize("rung", SPLIT, ids=lambda rung: rung.name)
def test_split_products_have_float32s_error(rung, kind, inputs_, cuda_device):
    reason = rung.why_not_on(cuda_device.description.architecture)
    if reason is not None:
        pytest.skip(reason)
    problem = Linear(200, inputs_, 130)
    x, weights, bias = random_inputs(problem, inputs_)
    x, weights = (
        np.ascontiguousarray(a, np.float32)
        for a in KINDS[kind](np.random.default_rng(5), x, weights)
    )
    bound = rung.bind(problem, (weights, 0 * bias), cuda_device)
    verdict = Expected(problem, x, weights, 0 * bias).judge(run(bound, x), "ieee")
    assert verdict.passed, verdict


@each_rung
def test_compiles_without_spills(rung):
    many = [make(10_000) for make, _ in NAMED.values()]
    # Few images have tiles of their own, whatever the other sizes are.
    check_compiles(rung, [*many[:3], many[2].with_batch(33)])
    if rung.narrow and rung.precision != "bf16":
        check_no_spills(rung, many[2], MEASURED, {"X_NARROW": 1, "OUT_NARROW": 1})


@given(problem=shapes)
def test_defaults_run_and_the_workspace_holds_whole_tiles(problem):
    """Of every rung, for each of the drawn problems."""
    for rung in (rung for rung in RUNGS if rung.why_not(problem) is None):
        config = rung.config(problem)
        assert rung.invalid(problem, config) is None, (rung, config)
        macros, workspace = rung.macros(problem, config), rung.workspace(problem, config)
        assert macros["PADDED_OUTPUTS"] >= problem.outputs, rung
        assert macros["PADDED_INPUTS"] >= problem.inputs, rung
        size = 2 if rung.precision in ("fp16", "bf16") else 4
        weights = workspace["numbers" if rung.precision == "ieee" else "rounded"]
        assert 4 * weights >= size * macros["PADDED_OUTPUTS"] * macros["PADDED_INPUTS"], rung


def test_tiles_and_parts_follow_the_problem():
    def shape(rung, *sizes):
        config = rung.config(Linear(*sizes))
        return tuple(config[n] for n in ("WARP_B", "WARP_O", "WARPS_B", "WARPS_O", "PARTS"))

    # One round of blocks, where tiles of 64 would begin a second.
    assert shape(FP16, 10_000, 6272, 512) == (80, 64, 2, 2, 1)
    assert shape(IEEE, 10_000, 6272, 512) == (80, 32, 2, 2, 1)
    assert shape(IEEE, 10_000, 1024, 32) == (32, 32, 4, 1, 3)
    assert shape(FP16, 256, 6272, 512)[-1] > 1
    assert shape(FP16, 9, 32, 10) == (16, 16, 4, 1, 1)


def test_sums_in_the_cores_are_short():
    assert FP16.config(Linear(2, 30_011, 3))["PARTS"] >= 4
    assert "16384 products summed by the cores" in FP16.invalid(
        Linear(2, 16_384, 3), FP16.config(Linear(2, 100, 3))
    )
    with pytest.raises(UnsupportedProblem, match="the cores sum up to 8192"):
        FP16.check(Linear(1, 200_000, 1))
    assert IEEE.why_not(Linear(1, 200_000, 1)) is None
    assert "sums of 64" in IEEE.why_not(Linear(1, 63, 1))


def test_a_config_that_cannot_run_is_refused_with_its_reason():
    config = FP16.config(Linear(3, 400, 5)) | {"WARP_B": 64, "WARP_O": 64, "STAGES": 2}
    assert FP16.invalid(Linear(3, 400, 5), config | {"BLOCKS": 2}) is None
    assert "216 registers a thread" in FP16.invalid(Linear(3, 400, 5), config | {"BLOCKS": 3})
    assert "shared memory" in FP16.invalid(Linear(3, 400, 5), config | {"STAGES": 5})
