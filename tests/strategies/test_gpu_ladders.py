"""Every GPU rung of linear, pool2d and softmax: its very text on each device, and by NVRTC."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Linear, Pool, Pool2d, Softmax, named, names
from rooftile.strategies import ladder, strategy
from tests.support.compiling import check_compiles
from tests.support.ladder_checks import check, draw_config, examples, inputs, run

from .strategy_cases import CASES, PROBLEMS

OPERATIONS = ("linear", "pool2d", "softmax")
RUNGS = [
    pytest.param(rung, id=f"{operation}-{rung.name}")
    for operation in OPERATIONS
    for rung in ladder(operation, "opencl")
]

# Beside those of every device: several tiles each way, rows on and off the grid of vectors.
MORE = {
    "linear": (Linear(70, 68, 132, "relu"), Linear(129, 515, 130), Linear(9, 2048, 33, "tanh")),
    "pool2d": (
        Pool2d(2, 3, 9, 36, Pool.of("max", 2)),
        Pool2d(2, 2, 11, 20, Pool.of("max", 3, 2)),
        Pool2d(1, 2, 11, 44, Pool.of("average", (2, 4), (3, 5))),
    ),
    "softmax": (Softmax(300, 7), Softmax(2, 5000)),
}
SPECIAL_PROBLEMS = {
    "linear": Linear(13, 70, 41, "relu"),
    "pool2d": Pool2d(2, 3, 19, 24, Pool.of("max", 3, 2)),
    "softmax": Softmax(40, 130),
}
LARGER = {
    **PROBLEMS,
    "linear": st.builds(
        Linear, st.integers(1, 140), st.integers(1, 300), st.integers(1, 140),
        st.sampled_from(["none", "relu", "sigmoid", "tanh"]),
    ),
}  # fmt: skip


def cases(rung):
    return [p for p in (*CASES[rung.operation], *MORE[rung.operation]) if not rung.why_not(p)]


@pytest.mark.parametrize("rung", RUNGS)
def test_is_right_repeatable_and_stays_inside_its_output(rung, device):
    for problem in cases(rung):
        check(rung, problem, device, seed=1)


@pytest.mark.parametrize("rung", RUNGS)
def test_nan_and_infinity_propagate(rung, device):
    problem = SPECIAL_PROBLEMS[rung.operation]
    for specials in ((0,), (1, 2)) if problem.parameter_shapes else ((0,),):
        for seed in range(3):
            check(rung, problem, device, seed=seed, specials=specials)


@pytest.mark.parametrize("rung", RUNGS)
@settings(examples, max_examples=5)
@given(data=st.data())
def test_any_problem_with_any_config(rung, device, data):
    problem = data.draw(LARGER[rung.operation].filter(lambda problem: not rung.why_not(problem)))
    config = draw_config(rung, problem, data.draw)
    check(rung, problem, device, seed=data.draw(st.integers(0, 99)), config=config)


@pytest.mark.parametrize("rung", RUNGS)
def test_the_last_batch_may_be_partial(rung, device):
    problem = SPECIAL_PROBLEMS[rung.operation]
    x, *parameters = inputs(problem)
    bound = rung.bind(problem, parameters, device)
    for images in (problem.batch, 1, problem.batch - 1):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, "ieee")
        assert verdict.passed, verdict


@pytest.mark.parametrize("rung", RUNGS)
def test_a_refusal_is_an_error_with_its_reason(rung, device):
    for problem in (*CASES[rung.operation], *MORE[rung.operation]):
        reason = rung.why_not(problem)
        if reason:
            with pytest.raises(UnsupportedProblem, match=rung.name) as caught:
                check(rung, problem, device)
            assert reason in str(caught.value)


# Each is a right text with one thing changed, on a problem that gives it away.
WRONG = {
    "weights of the next row": (
        "linear", "naive", "place_in_b(k, j, inner,", "place_in_b(k, (j + 1) % columns, inner,",
    ),
    "last input forgotten": ("linear", "naive", "RUN : inner;", "RUN : inner - 1;"),
    "bias forgotten": ("linear", "tiled", "activate((sum) + bias[column])", "activate(sum)"),
    "the first tile again": ("linear", "tiled", "place_in_b(start + term_b", "place_in_b(term_b"),
    "last image not written": (
        "linear", "tiled", "(i < rows && j < columns) out", "(i < rows - 1 && j < columns) out",
    ),
    "tiles swapped": (
        "linear", "register_tile",
        "first + place_of(thread + l * LOADERS, tile, along)",
        "first + place_of(thread + l * LOADERS, tile, !along)",
    ),
    "next tile into the present buffer": (
        "linear", "register_tile", "keep(left[buffer ^ 1]", "keep(left[buffer]",
    ),
    "inputs reversed in fours": (
        "linear", "register_tile", "at[0] = held[l].x", "at[0] = held[l].w",
    ),
    "a part forgotten": ("linear", "register_tile", "part < PARTS", "part < PARTS - 1"),
    "relu that drops NaN": (
        "linear", "warp_rows", "activate(partial[slot][lane][0] + bias[o])",
        "fmax(partial[slot][lane][0] + bias[o], 0.0f)",
    ),
    "tree without its first step": ("linear", "warp_rows", "TEAM / 2", "TEAM / 4"),
    "only the first load": ("linear", "warp_rows", "start += AHEAD * STRIDE", "start += INPUTS"),
    "every image the first": ("linear", "warp_rows", "(size_t)image * INPUTS", "0"),
    "window one column short": ("pool2d", "naive", "b < POOL_WIDTH", "b < POOL_WIDTH - 1"),
    "maximum that drops NaN": (
        "pool2d", "vector_rows", "POOL_WITH(pooled[n], TERM(values[n * POOL_STRIDE_X + b], a, b))",
        "fmax(pooled[n], values[n * POOL_STRIDE_X + b])",
    ),
    "outputs a column apart": (
        "pool2d", "vector_rows", "n * POOL_STRIDE_X + b", "n * POOL_STRIDE_X + b + 1",
    ),
    "no distance to the largest": ("softmax", "naive", "given[j] - largest", "given[j]"),
    "sum of half a row": ("softmax", "naive", "j < CLASSES; j++) {", "j < CLASSES / 2; j++) {"),
    "maximum of the first threads": (
        "softmax", "block_rows", "joined[slot][lane] = value", "joined[slot][lane] = given[0]",
    ),
    "rows of a block mixed up": ("softmax", "block_rows", "joined[slot][0]", "joined[0][0]"),
}  # fmt: skip
WRONG_ON = {"linear": Linear(13, 1111, 41, "relu"), "pool2d": SPECIAL_PROBLEMS["pool2d"],
            "softmax": Softmax(40, 130)}  # fmt: skip


def check_wrong(rung, problem, device):
    """As `check`, of a rung that one of these inputs ought to give away."""
    for specials in ((), (0,)):
        x, *parameters = inputs(problem, specials=specials)
        for scale in (1, 60):  # Exponentials overflow where the largest is not taken off.
            given = x * np.float32(scale)
            out = run(rung.bind(problem, parameters, device), given)
            assert Expected(problem, given, *parameters).judge(out, "ieee").passed


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_text_is_caught(name, device):
    operation, rung, before, after = WRONG[name]
    right = strategy(operation, rung, "opencl")
    assert before in right.whole_text
    copy = type(right)()
    copy.__dict__["text"] = right.whole_text.replace(before, after)
    problem = WRONG_ON[operation]
    with pytest.raises(AssertionError):
        check_wrong(copy, problem, device)


@pytest.mark.parametrize("rung", RUNGS)
def test_named_problems_compile_without_spills(rung):
    batches = (1, 8, 256, 10_000)
    check_compiles(
        rung,
        [named(rung.operation, name, n) for name in names(rung.operation) for n in batches],
    )
