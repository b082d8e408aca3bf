"""Every rung of `conv2d_input_gradient`, and that it is the gradient."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import assert_close, verify
from rooftile.ops import ACTIVATIONS, Pool, parse
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies import ladder

RUNGS = ladder("conv2d_input_gradient")
POOL = Pool.of("max", 2)
PROBLEMS = (
    Conv2dInputGradient(3, 2, 14, 17, 2, (3, 4), (2, 3), (2, 1)),
    Conv2dInputGradient(2, 2, 8, 30, 2, (2, 19), (1, 1), (1, 2)),
    Conv2dInputGradient(4, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), POOL),
    Conv2dInputGradient(2, 1, 30, 63, 2, (3, 4), pool=Pool.of("max", 3, 2)),
)
BEHIND = (
    Conv2dInputGradient(3, 2, 14, 17, 2, (3, 4), (2, 3), (2, 1), before="relu"),
    Conv2dInputGradient(4, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), POOL, "tanh"),
    Conv2dInputGradient(2, 2, 9, 11, 2, (3, 3), before="gelu"),
)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_right_also_on_hard_inputs(rung):
    for problem in PROBLEMS:
        found = verify(problem, rung, hard=True, neighbours=False)
        assert found.passed, (problem, found)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_neighbours_are_right(rung):
    verify(PROBLEMS[2], rung).raise_if_wrong()


@pytest.mark.parametrize("problem", BEHIND)
def test_times_the_derivative_of_what_comes_before(problem):
    taking = [rung for rung in RUNGS if rung.why_not(problem) is None]
    assert "threads" in [rung.name for rung in taking]
    for rung in taking:
        verify(problem, rung, hard=True, neighbours=False).raise_if_wrong()
    dy, *where, x, weights = problem.random(0)
    alone = dataclasses.replace(problem, before="none").reference(dy, *where, weights)
    slope = ACTIVATIONS[problem.before].slope(x.astype(np.float64))
    np.testing.assert_allclose(problem.reference(dy, *where, x, weights), alone * slope)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_reference_is_the_gradient(problem):
    """<dx, v> is <dy, v * w>, for the convolution is linear in its input."""
    dy, *where, weights = problem.random(1)
    direction = np.random.default_rng(2).standard_normal(problem.layer.input_shape)
    layer = dataclasses.replace(problem.layer, pool=None)
    z = layer.reference(direction, weights, np.zeros(problem.maps))
    if where:
        z = np.take_along_axis(z.reshape(*z.shape[:2], -1), where[0].reshape(*z.shape[:2], -1), -1)
    expected = (z.ravel() * dy.ravel()).sum()
    dx = problem.reference(dy, *where, weights)
    assert (dx * direction).sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_other_weights_and_fewer_images(rung):
    problem = PROBLEMS[2]
    dy, where, weights = problem.random(0)
    bound = rung.bind(problem, (weights,), cpu.open_device(2))
    if bound.renewable:
        weights = 2 * weights
        bound.renew((weights,))
    for images in (1, 3):
        dx = np.full((images, *problem.layer.input_shape[1:]), np.nan, np.float32)
        bound(dy[:images], where[:images], dx)
        some = problem.with_batch(images)
        assert_close(some, dx, dy[:images], where[:images], weights, precision="ieee")


def test_problems():
    text = "channels=1,height=9,width=8,maps=3,mask=3x3,pool=max:2"
    problem = parse("conv2d_input_gradient", text, 2)
    assert problem == Conv2dInputGradient(2, 1, 9, 8, 3, (3, 3), pool=POOL)
    assert [array.name for array in problem.arrays] == ["dy", "where", "weights", "dx"]
    for wrong in ({"pool": Pool.of("l2", 2)}, {"batch": 0}, {"mask": (10, 3)}, {"before": "sign"}):
        with pytest.raises(InputError):
            dataclasses.replace(problem, **wrong)
