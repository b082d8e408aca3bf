"""What the host computes of a GPU rung before it launches, for sizes that nobody thought of.

A rung refuses a problem by its reason, or its grids and blocks have at least one block and thread:
no size of a launch becomes zero, and none is divided by.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from rooftile.errors import RooftileError
from rooftile.ops import named, names
from rooftile.strategies import ladder

OPERATIONS = ("argreduce", "box_blur", "compact", "conv1d", "reduce", "rotate", "scan", "separable")
SIZES = (1, 1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 64, 97, 125, 129, 255, 1000, 4097, 65537)
_PROBLEMS = 40


def problems(operation):
    """Named problems with some of their sizes, or all, replaced."""
    generator = random.Random(1)
    named_ones = [named(operation, name) for name in names(operation)]
    found = []
    while len(found) < _PROBLEMS:
        share = generator.choice((0.3, 0.6, 1))
        try:
            found.append(replaced(generator.choice(named_ones), generator, share))
        except RooftileError:
            continue
    return found


def replaced(value, generator, share):
    """A value whose integers, also within tuples and parts, are replaced with some chance."""
    if type(value) is int:
        return generator.choice(SIZES) if generator.random() < share else value
    if isinstance(value, tuple):
        return tuple(replaced(one, generator, share) for one in value)
    if dataclasses.is_dataclass(value):
        parts = {
            field.name: replaced(getattr(value, field.name), generator, share)
            for field in dataclasses.fields(value)
            if field.init
        }
        return dataclasses.replace(value, **parts)
    return value


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_rung_refuses_or_launches(operation):
    for rung in ladder(operation, "cuda"):
        for problem in problems(operation):
            config = rung.config(problem)
            if rung.why_not(problem) is not None:
                continue
            assert rung.invalid(problem, config) is None, (rung.name, problem)
            rung.why_slow(problem)
            for step in (*rung.preparation(problem, config), *rung.steps(problem, config)):
                launch = step.launch
                assert min(*launch.grid, *launch.block) >= 1, (rung.name, problem, launch)
                assert max(launch.grid[1:]) <= 65535, (rung.name, problem, launch)
