"""What rungs say of their kernels names kernels that they launch."""

from __future__ import annotations

import math

import pytest

from rooftile.ops import Conv2d, Pool, Pool2d, Softmax, named
from rooftile.strategies import ladder

PROBLEMS = {
    "conv2d": (
        named("conv2d", "lenet-conv1", 40),
        named("conv2d", "lenet-conv2", 40),
        Conv2d(2, 64, 20, 20, 64, (3, 3), padding=(1, 1)),
    ),
    "linear": (named("linear", "lenet-linear1", 40), named("linear", "mnist-linear1", 40)),
    "pool2d": (Pool2d(10, 3, 40, 40, Pool.of("max", 2)),),
    "softmax": (Softmax(100, 10),),
}
RUNGS = [
    pytest.param(rung, id=f"{operation}-{rung.name}")
    for operation in PROBLEMS
    for rung in ladder(operation, "cuda")
]


@pytest.mark.parametrize("rung", RUNGS)
def test_models_and_sums_are_of_kernels_that_are_launched(rung):
    for problem in PROBLEMS[rung.operation]:
        if rung.why_not(problem) is not None:
            continue
        config = rung.config(problem)
        kernels = {step.launch.kernel for step in rung.steps(problem, config)}
        assert not rung.summing or rung.summing in kernels
        models = rung.accesses(problem, config)
        assert not models or set(models) == kernels
        if models:
            assert sum(a.stores for a in models.values()) >= math.prod(problem.output_shape)
