"""Every rung of `pool2d_gradient`, and that it is the gradient."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops import Pool, Pool2d, parse
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies import ladder
from tests.support.every_rung import EveryCpuRung

RUNGS = ladder("pool2d_gradient")
PROBLEMS = (
    Pool2dGradient(2, 3, 9, 11, Pool.of("max", 2)),
    Pool2dGradient(1, 2, 9, 70, Pool.of("max", 3, 2)),
    # More windows in a row than wait at once.
    Pool2dGradient(1, 1, 3, 600, Pool.of("max", (2, 2), (1, 2))),
    Pool2dGradient(2, 2, 9, 40, Pool.of("average", (2, 3))),
    Pool2dGradient(2, 3, 9, 11, Pool.of("average", 3, (1, 2))),
)


class TestRungs(EveryCpuRung):
    problems = PROBLEMS
    near = PROBLEMS[:1]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_reference_is_the_gradient(problem):
    x, dy = problem.random(1)
    direction = np.random.default_rng(2).standard_normal(x.shape)
    pool = Pool2d(problem.batch, problem.channels, problem.height, problem.width, problem.pool)
    ahead, behind = (pool.reference(x + step * direction) for step in (1e-9, -1e-9))
    expected = ((ahead - behind) * dy).sum() / 2e-9
    dx = problem.reference(x, dy)
    assert (dx * direction).sum() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_only_the_first_of_equals_gets_the_gradient():
    problem = Pool2dGradient(1, 1, 2, 4, Pool.of("max", 2))
    dx = problem.reference(np.zeros((1, 1, 2, 4)), np.array([[[[3.0, 4.0]]]]))
    np.testing.assert_array_equal(dx[0, 0], [[3, 0, 4, 0], [0, 0, 0, 0]])


def test_problems():
    problem = parse("pool2d_gradient", "channels=3,height=9,width=8,pool=max:2", 2)
    assert problem == Pool2dGradient(2, 3, 9, 8, Pool.of("max", 2))
    assert problem.moved()["x"] == 4 * 2 * 3 * 72
    assert dataclasses.replace(problem, pool=Pool.of("average", 2)).moved()["x"] == 0
    for wrong in ({"pool": Pool.of("l2", 2)}, {"pool": Pool.of("max", 2, 2, "relu")}, {"width": 1}):
        with pytest.raises(InputError):
            dataclasses.replace(problem, **wrong)
    (rows,) = (rung for rung in RUNGS if rung.name == "rows")
    assert "average" in rows.why_not(PROBLEMS[3])
