"""Problems drawn at random are problems, within the limits, and say how they are drawn again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops import operations, parse
from rooftile.ops.drawing import draw, shape_text
from rooftile.ops.draws import Draw

LIMITS = {"most_flops": 1e9, "most_bytes": 6e7}


@pytest.mark.parametrize("operation", operations())
def test_each_operation_draws_problems_within_limits(operation):
    found = [draw(operation, 5, number, **LIMITS) for number in range(12)]
    assert len(set(found)) > 6
    for problem in found:
        assert problem.operation == operation
        assert problem.flops <= 1e9
        assert 4096 <= problem.bytes <= 6e7


@pytest.mark.parametrize("operation", operations())
def test_a_drawn_problem_is_parsed_from_its_text(operation):
    for number in range(6):
        problem = draw(operation, 3, number, **LIMITS)
        assert parse(operation, shape_text(problem)) == problem


def test_a_seed_draws_the_same_problem_again():
    first, again = (draw("conv2d", 9, 4, **LIMITS) for _ in range(2))
    assert first == again
    assert first != draw("conv2d", 10, 4, **LIMITS)


def test_half_of_the_sizes_are_aligned():
    made = Draw(np.random.default_rng(1), 1e6)
    sizes = [made.size(100, 4000) for _ in range(400)]
    assert min(sizes) >= 100
    assert max(sizes) <= 4000
    aligned = sum(size % 8 == 0 for size in sizes)
    assert 160 < aligned < 300
    assert sum(size < 632 for size in sizes) == pytest.approx(200, abs=50)  # the geometric middle


def test_limits_that_no_problem_meets_are_told():
    with pytest.raises(InputError, match="within the limits"):
        draw("mlp_training", 1, 1, most_flops=1, most_bytes=1)


def test_strides_masks_and_channels_vary():
    found = [draw("conv2d", 2, number, **LIMITS) for number in range(60)]
    assert {problem.stride for problem in found} == {(1, 1), (2, 2)}
    assert {problem.mask[0] for problem in found} == {1, 3, 5, 7}
    assert any(problem.channels % 8 for problem in found)
    assert any(any(problem.padding) for problem in found)
    assert {field.name for field in dataclasses.fields(found[0])} >= {"dtype", "pool"}
