"""The launches at the end of a training step, emulated on the host: right, without races."""

from __future__ import annotations

import pytest

from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.ops.gradients.linear_weights_gradient import LinearWeightsGradient
from rooftile.strategies import strategy
from tests.emulation.emulator import judged, missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

# Teams with rows beyond the last, features beyond the last team's, items beyond the last block's.
PROBLEMS = {
    "items": LinearCrossEntropy(5, 40, 3, "tanh"),
    "two_layers": LinearCrossEntropy(5, 13, 3, "tanh", 132, "relu"),
    "quarters": LinearWeightsGradient(37, 13, 3, 132),
}


def verdict(name, tmp_path, sanitizer, wrong=None):
    problem = PROBLEMS[name]
    rung = strategy(problem.operation, name, "cuda")
    config = {"ITEMS": 2} if name == "two_layers" else None
    given = problem.random(2)
    return judged(rung, problem, given, tmp_path, config, wrong=wrong, sanitizer=sanitizer)


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_right(name, sanitizer, tmp_path):
    verdict(name, tmp_path, sanitizer).raise_if_wrong()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("activated(BEFORE, whole", "activated(0, whole"),
        ("derivative(BELOW, value", "derivative(0, value"),
        ("row < INPUTS ? from[at]", "row < 0 ? from[at]"),
        ("changes[k % INPUTS * ITEMS + k / INPUTS]", "changes[k]"),
    ],
)
def test_what_is_left_out_is_caught(before, after, tmp_path):
    assert not verdict("two_layers", tmp_path, "address", (before, after)).passed


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("two_layers", "        __syncthreads();\n        UNROLL for (int c"),
        ("quarters", "        __syncthreads();\n"),
    ],
)
def test_threads_that_do_not_wait_race(name, waits, tmp_path):
    wrong = (waits, waits.replace("__syncthreads();", ""))
    with pytest.raises(AssertionError, match="data race"):
        verdict(name, tmp_path, "thread", wrong)
