"""What the host computes of a GPU rung before it launches, for sizes that nobody thought of.

A rung refuses a problem by its reason, or its grids and blocks have at least one block and thread:
no size of a launch becomes zero, and none is divided by.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from rooftile.errors import RooftileError
from rooftile.ops import Pool, named, names
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.registry import operations
from rooftile.strategies import ladder
from rooftile.strategies.contract.costs import NOMINAL_GPU
from rooftile.strategies.contract.machine import preset

OPERATIONS = ("argreduce", "box_blur", "compact", "conv1d", "reduce", "rotate", "scan", "separable")
EVERY = tuple(operations())
ARCHITECTURES = ("sm_75", "sm_86", "sm_90")
SIZES = (1, 1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 64, 97, 125, 129, 255, 1000, 4097, 65537)
_PROBLEMS = 40


def problems(operation, count=_PROBLEMS):
    """Named problems with some of their sizes, or all, replaced."""
    generator = random.Random(1)
    named_ones = [named(operation, name) for name in names(operation)]
    found = []
    while len(found) < count:
        share = generator.choice((0.3, 0.6, 1))
        try:
            made = replaced(generator.choice(named_ones), generator, share)
        except RooftileError:
            continue
        # To search tiles for millions of padded rows takes a second for each rung.
        if max(getattr(made, "padding", (0,))) <= 1000:
            found.append(made)
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
            assert all(term >= 0 for term in rung.terms(problem, NOMINAL_GPU))
            for step in (*rung.preparation(problem, config), *rung.steps(problem, config)):
                launch = step.launch
                assert min(*launch.grid, *launch.block) >= 1, (rung.name, problem, launch)
                assert max(launch.grid[1:]) <= 65535, (rung.name, problem, launch)


@pytest.mark.parametrize("operation", EVERY)
def test_a_rung_that_takes_a_problem_runs_its_default_config(operation):
    """On old GPUs too, whose shared memory is small: `why_not` None promises a launch."""
    for problem in problems(operation, 3):
        for rung in ladder(operation, "cuda"):
            for architecture in ARCHITECTURES:
                if rung.why_not_on(architecture) is not None:
                    continue
                placed = rung.on(preset(architecture))
                if placed.why_not(problem) is not None:
                    continue
                config = placed.config(problem)
                assert placed.invalid(problem, config) is None, (rung.name, architecture, problem)
                for step in (*placed.preparation(problem, config), *placed.steps(problem, config)):
                    assert min(*step.launch.grid, *step.launch.block) >= 1, (rung.name, problem)


def test_little_shared_memory_and_many_maps_are_refused_or_run():
    little = dataclasses.replace(preset("sm_86"), shared_bytes=49152, block_shared_bytes=49152)
    found = []
    for operation in ("compact", "segmented_scan", "linear", "matmul"):
        rungs = [one for one in ladder(operation, "cuda") if one.name[:3] in ("mma", "wav")]
        for rung in rungs:
            placed = rung.on(little)
            for problem in problems(operation, 6):
                if placed.why_not(problem) is None:
                    assert placed.invalid(problem, placed.config(problem)) is None, rung.name
                elif rung.why_not(problem) is None:
                    found.append(rung.name)
    assert {"waves", "mma_fp16", "mma_ieee"} <= {*found}
    layer = Conv2dWeightsGradient(5, 1, 40, 5, 4097, (7, 1), pool=Pool("max", (4, 4), (4, 4)))
    (taps,) = (one for one in ladder(layer.operation, "cuda") if one.name == "lane_taps")
    for architecture in ("sm_75", "sm_90"):
        placed = taps.on(preset(architecture))
        reason = placed.why_not(layer)
        assert reason or placed.invalid(layer, placed.config(layer)) is None
