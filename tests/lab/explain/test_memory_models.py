"""What explanations count of memory: models of all dense patterns, and what is read again."""

from __future__ import annotations

import pytest

from rooftile.lab.explain import kernels as kernels_module
from rooftile.ops import named, names
from rooftile.ops.stencil import Stencil
from rooftile.strategies import ladder, strategy
from rooftile.strategies.gpu import of_launches

DENSE = (
    "matmul",
    "matvec",
    "conv1d",
    "separable",
    "conv3d",
    "stencil",
    "transpose",
    "permute_columns",
    "rotate",
    "elementwise",
    "grayscale",
    "box_blur",
)


@pytest.mark.parametrize("operation", DENSE)
def test_dense_patterns_say_what_they_do_to_memory(operation):
    problem = named(operation, names(operation)[0])
    rungs = [
        rung
        for rung in map(of_launches, ladder(operation, "cuda"))
        if rung.why_not(problem) is None and not rung.tensor_cores
    ]
    for rung in rungs:
        config = rung.config(problem)
        counted = rung.accesses(problem, config)
        kernels = {step.launch.kernel for step in rung.steps(problem, config)}
        assert set(counted) <= kernels, rung.name
        read = sum(one.loads for one in counted.values())
        assert read >= sum(array.size for array in problem.input_arrays) * 0.99, rung.name
        written = sum(one.stores + one.atomics for one in counted.values())
        assert written >= sum(array.size for array in problem.output_arrays), rung.name


def test_what_one_launch_makes_and_the_next_reads_is_counted_twice():
    problem = Stencil((64, 64, 64), 7, 8)
    rung = of_launches(strategy("stencil", "several_steps", "cuda"))
    config = rung.config(problem, {"LEVELS": 4})
    steps = rung.steps(problem, config)
    assert len(steps) == 2
    ((read, written),) = kernels_module._touched(rung, problem, config, steps).values()
    whole = 4 * 64**3
    assert written == 2 * whole
    assert 2 * whole <= read <= 2 * whole + 1024
