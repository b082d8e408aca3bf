"""Ghost cells and pools of `conv2d` beside the ordinary ones, on every rung that takes them."""

import pytest

from rooftile.errors import UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import ladder, strategy

# Padding beyond the mask one way; strides; windows that overlap.
PROBLEMS = (
    Conv2d(2, 3, 11, 20, 5, (3, 5), (1, 1), (3, 5), "tanh", Pool.of("l2", 2), "replicate"),
    Conv2d(1, 2, 13, 41, 3, (5, 3), (1, 2), (2, 1), "sigmoid",
           Pool.of("average", 2, 2, "sigmoid"), "interior"),
)  # fmt: skip
SIMPLE = {"naive", "restrict_unroll", "constant", "tile_output", "tile_input", "tile_core",
          "coarsened", "im2col_register", "direct_tile"}  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.boundary)
@pytest.mark.parametrize("rung", ladder("conv2d"), ids=lambda rung: rung.name)
def test_right_on_the_cpu(rung, problem):
    if rung.why_not(problem):
        with pytest.raises(UnsupportedProblem):
            rung.check(problem)
        return
    verify(problem, rung, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.boundary)
@pytest.mark.parametrize("rung", ladder("conv2d", "opencl"), ids=lambda rung: rung.name)
def test_right_on_a_gpu(rung, problem, device):
    if rung.why_not(problem):
        assert rung.name not in SIMPLE
        return
    verify(problem, rung, device=device, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_some_rungs_take_everything_and_the_others_say_why_not(kind):
    for problem in PROBLEMS:
        refusals = [rung.why_not(problem) for rung in ladder("conv2d", kind)]
        assert None in refusals
        assert any("boundary=" in (reason or "") for reason in refusals)
    behind = Conv2d(1, 1, 24, 24, 4, (5, 5), pool=Pool.of("max", 2, 2, "tanh"))
    reasons = [rung.why_not(behind) or "" for rung in ladder("conv2d", "cuda")]
    assert any("pool.activation='tanh'" in reason for reason in reasons)


def test_norms_neither_overflow_nor_vanish():
    """Of one window, in float32: squares of these lie beyond its range."""
    rung = strategy("conv2d", "loops")
    problem = Conv2d(1, 1, 2, 2, 1, (1, 1), pool=Pool.of("l2", 2))
    verify(problem, rung, hard=True, neighbours=False).raise_if_wrong()


# Each is a right text with one thing changed.
WRONG = {
    "replicas a row too far inside": ("naive", 0, "clamped(i, HEIGHT)", "clamped(i, HEIGHT - 1)"),
    "every position counts": ("tile_output", 1, "return inside ? z : 0.0f", "return z"),
    "a running norm that is squared": ("coarsened", 0, "a * a + b * b", "a + b * b"),
    "nothing behind the pool": ("direct_tile", 1, "activated(POOL_ACTIVATION, ", "("),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_text_is_caught(name, opencl_device):
    rung, which, before, after = WRONG[name]
    right = strategy("conv2d", rung, "opencl")
    assert before in right.whole_text
    wrong = type(right)()
    wrong.__dict__["text"] = right.whole_text.replace(before, after)
    assert not verify(PROBLEMS[which], wrong, device=opencl_device, neighbours=False).passed
