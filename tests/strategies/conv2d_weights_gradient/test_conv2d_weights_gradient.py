"""Every rung of `conv2d_weights_gradient`, and that it is the gradient."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import ACTIVATIONS, Pool, parse
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies import ladder, strategy

POOL = Pool.of("max", 2)
# Gradients of all outputs, before and behind an activation, and of winners; windows that overlap;
# a mask wider than a vector; more images than shares; gradients for more than one collection; more
# taps than registers, of rows of more than two vectors and a part, behind padding.
PROBLEMS = (
    Conv2dWeightsGradient(9, 2, 14, 17, 2, (3, 4), (2, 3), (2, 1)),
    Conv2dWeightsGradient(2, 2, 8, 30, 2, (2, 19), (1, 1), (1, 2)),
    Conv2dWeightsGradient(10, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), POOL),
    Conv2dWeightsGradient(2, 1, 30, 63, 2, (3, 4), pool=Pool.of("max", 3, 2)),
    Conv2dWeightsGradient(3, 2, 14, 17, 3, (3, 4), (1, 1), (2, 1), activation="sigmoid"),
    Conv2dWeightsGradient(9, 2, 9, 37, 2, (5, 6), padding=(2, 2)),
    Conv2dWeightsGradient(2, 2, 8, 17, 3, (3, 4), activation="gelu"),
)


@pytest.mark.parametrize("rung", ladder("conv2d_weights_gradient"), ids=lambda rung: rung.name)
def test_right_also_on_hard_inputs(rung):
    for problem in PROBLEMS:
        if rung.name in ("nonzeros", "row_vectors"):
            if rung.why_not(problem) is not None:
                continue
            found = verify(problem, rung, hard=True, neighbours=False)
            assert found.passed, (problem, found)
        else:
            verify(problem, rung, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("rung", ladder("conv2d_weights_gradient"), ids=lambda rung: rung.name)
def test_neighbours_are_right(rung):
    problem = PROBLEMS[2] if rung.why_not(PROBLEMS[2]) is None else PROBLEMS[5]
    verify(problem, rung).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_reference_is_the_gradient(problem):
    """<dweights, v> is <dy, x * v>, for the convolution is linear in its weights."""
    x, dy, *others = problem.random(1)
    given = dy
    where = others if problem.pool is not None else []
    if problem.activation != "none":
        dy = dy * ACTIVATIONS[problem.activation].slope(others[0].astype(np.float64))
    direction = np.random.default_rng(2).standard_normal(problem.layer.parameter_shapes["weights"])
    layer = dataclasses.replace(problem.layer, pool=None)
    z = layer.reference(x, direction, np.ones(problem.maps))
    if where:
        z = np.take_along_axis(z.reshape(*z.shape[:2], -1), where[0].reshape(*z.shape[:2], -1), -1)
    dweights, dbias = problem.reference(x, given, *others)
    expected = (z.ravel() * dy.ravel()).sum()
    assert (dweights * direction).sum() + dbias.sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("name", "problems"),
    [("nonzeros", PROBLEMS[1:3]), ("row_vectors", (PROBLEMS[4], PROBLEMS[5]))],
)
def test_more_or_fewer_threads_give_the_same_bits(name, problems):
    from rooftile.devices import cpu

    rung = strategy("conv2d_weights_gradient", name)
    for problem in problems:
        arrays, made = problem.random(0), []
        for threads in (1, 3):
            outputs = [np.empty(a.shape, np.float32) for a in problem.output_arrays]
            rung.bind(problem, (), cpu.open_device(threads))(*arrays, *outputs)
            made.append(outputs)
        for one, other in zip(*made, strict=True):
            np.testing.assert_array_equal(one, other)


def test_problems():
    text = "images=2,channels=1,height=9,width=8,maps=3,mask=3x3,pool=max:2"
    problem = parse("conv2d_weights_gradient", text)
    assert problem == Conv2dWeightsGradient(2, 1, 9, 8, 3, (3, 3), pool=POOL)
    assert [array.name for array in problem.arrays] == ["x", "dy", "where", "dweights", "dbias"]
    assert problem.flops == 2 * 2 * 3 * 9 * 9
    wrongs = ({"pool": Pool.of("average", 2)}, {"images": 0}, {"mask": (10, 3)})
    for wrong in (*wrongs, {"activation": "relu"}, {"activation": "softmax", "pool": None}):
        with pytest.raises(InputError):
            dataclasses.replace(problem, **wrong)
    wide = Conv2dWeightsGradient(1, 1, 3, 500, 1, (1, 400))
    with pytest.raises(UnsupportedProblem, match="400 wide"):
        strategy("conv2d_weights_gradient", "nonzeros").check(wide)


def test_row_vectors_takes_rows_of_neighbours():
    rung = strategy("conv2d_weights_gradient", "row_vectors")
    for wrong, why in ((PROBLEMS[2], "pool='max'"), (PROBLEMS[0], "horizontal stride of 3")):
        with pytest.raises(UnsupportedProblem, match=why):
            rung.check(wrong)
    with pytest.raises(UnsupportedProblem, match="289 taps"):
        rung.check(Conv2dWeightsGradient(1, 1, 20, 20, 1, (17, 17)))
    # Two columns fill less of a vector than rows of the mask do.


@pytest.mark.parametrize(("lanes", "registers"), [(8, 16), (16, 32)])
def test_row_vectors_of_other_processors(monkeypatch, lanes, registers):
    from rooftile.devices.cpu.native import vector

    monkeypatch.setattr(vector, "lanes", lambda: lanes)
    monkeypatch.setattr(vector, "registers", lambda: registers)
    rung = strategy("conv2d_weights_gradient", "row_vectors")
    verify(PROBLEMS[5], rung, hard=True, neighbours=False).raise_if_wrong()
