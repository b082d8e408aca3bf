"""Every rung of `pool2d_winners`: the maxima as they are, and their places."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.devices.cpu.native import native
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import Pool, parse
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies import ArrayKernel, ladder
from rooftile.strategies.pool2d_winners.cpu.loops import Loops
from tests.support.every_rung import EveryCpuRung

RUNGS = ladder("pool2d_winners")
PROBLEMS = (
    Pool2dWinners(2, 3, 9, 11, Pool.of("max", 2)),
    Pool2dWinners(1, 2, 9, 70, Pool.of("max", 3, 2)),
    Pool2dWinners(2, 3, 9, 70, Pool.of("max", (2, 3), (3, 4))),
)


class TestRungs(EveryCpuRung):
    problems = PROBLEMS
    near = (PROBLEMS[0].with_batch(5),)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_fewer_images(rung):
    problem = PROBLEMS[0].with_batch(5)
    x, bound = problem.random(0)[0], rung.bind(problem, (), cpu.open_device(2))
    for images in (1, 3):
        some = problem.with_batch(images)
        y, where = (np.zeros(a.shape, a.numpy) for a in some.output_arrays)
        bound(x[:images], y, where)
        for made, right in zip((y, where), some.reference(x[:images]), strict=True):
            np.testing.assert_array_equal(made, right)


@settings(max_examples=15)
@given(
    height=st.integers(3, 12), width=st.integers(3, 40), stride=st.integers(1, 4),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_any_image_with_equals_and_nan(height, width, stride, seed):
    problem = Pool2dWinners(1, 2, height, width, Pool.of("max", 3, (stride, 2)))
    generator = np.random.default_rng(seed)
    x = generator.choice(np.array([0, 1, 1, np.nan, -np.inf], np.float32), (1, 2, height, width))
    for rung in RUNGS:
        y, where = (np.zeros(a.shape, a.numpy) for a in problem.output_arrays)
        rung.bind(problem, (), cpu.open_device(1))(x, y, where)
        for made, right in zip((y, where), problem.reference(x), strict=True):
            np.testing.assert_array_equal(made, right)


@native
def last_of_equals(x, y, where, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Wrong: the last of equals wins."""
    height, width, rows, columns = sizes[0], sizes[1], sizes[6], sizes[7]
    for k in range(begin * rows * columns, end * rows * columns):
        unit, i, j = k // (rows * columns), k // columns % rows, k % columns
        place = i * sizes[4] * width + j * sizes[5]
        for a in range(sizes[2]):
            for b in range(sizes[3]):
                at = (i * sizes[4] + a) * width + j * sizes[5] + b
                if x[unit * height * width + at] >= x[unit * height * width + place]:
                    place = at
        y[k], where[k] = x[unit * height * width + place], place


class Last(Loops):
    def kernel(self, problem):
        return dataclasses.replace(super().kernel(problem), function=last_of_equals)


def test_the_last_of_equals_is_caught():
    assert isinstance(Last().kernel(PROBLEMS[0]), ArrayKernel)
    assert verify(PROBLEMS[0], Last(), neighbours=False).passed
    found = verify(PROBLEMS[0], Last(), hard=True, neighbours=False)
    assert not found.passed
    assert "ties" in found.reason


def test_problems():
    problem = parse("pool2d_winners", "channels=3,height=9,width=8,pool=max:2", 2)
    assert problem == Pool2dWinners(2, 3, 9, 8, Pool.of("max", 2))
    assert problem.bytes == 4 * 2 * 3 * (8 * 8 + 2 * 4 * 4)
    for wrong in ({"pool": Pool.of("average", 2)}, {"channels": 0}, {"height": 1}):
        with pytest.raises(InputError):
            dataclasses.replace(problem, **wrong)
    (rows,) = (rung for rung in RUNGS if rung.name == "rows")
    assert "more than 64" in rows.why_not(Pool2dWinners(1, 1, 20, 20, Pool.of("max", 9)))
