from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.nn.training.passes import layer_pass
from rooftile.ops import Conv2d, Linear, Pool

ACTIVATIONS = ["none", "relu", "sigmoid", "tanh"]
# Strides and steps below, at and above the size.
WIDTHS = [(1, (2, 1)), (2, (1, 3)), (3, (1, 1)), (3, (2, 2)), (4, (3, 2))]
WINDOWS = [((2, 2), (2, 2)), ((1, 3), (2, 1)), ((3, 2), (1, 4)), ((3, 3), (3, 2)), ((1, 1), (1, 3))]


@st.composite
def convolutions(draw):
    width, stride = draw(st.sampled_from(WIDTHS))
    mask = (draw(st.integers(1, 4)), width)
    padding = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    window, step = draw(st.sampled_from(WINDOWS))
    kind = draw(st.sampled_from(["max", "average"]))
    pool = draw(st.sampled_from([None, Pool.of(kind, window, step)]))
    least = [m + (w - 1) * s for m, w, s in zip(mask, window, stride, strict=True)]
    height, width = (size + draw(st.integers(0, 7)) for size in least)
    return Conv2d(
        draw(st.integers(1, 10)), draw(st.integers(1, 3)), height, width, draw(st.integers(1, 5)),
        mask, stride, padding, draw(st.sampled_from(ACTIVATIONS)), pool,
    )  # fmt: skip


linears = st.builds(
    Linear,
    batch=st.integers(1, 5),
    inputs=st.integers(1, 40),
    outputs=st.integers(1, 9),
    activation=st.sampled_from(ACTIVATIONS),
)


@given(problem=st.one_of(convolutions(), linears), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_forward_is_within_the_budget_of_the_reference(problem, seed):
    x, *parameters = random_inputs(problem, seed)
    y = layer_pass(problem, 2).forward(x, tuple(parameters))
    verdict = Expected(problem, x, *parameters).judge(y, "ieee")
    assert verdict.passed, verdict.reason


@given(problem=st.one_of(convolutions(), linears), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_gradients_are_those_of_finite_differences(problem, seed):
    generator = np.random.default_rng(seed)
    x, *parameters = (a.astype(np.float64) for a in random_inputs(problem, seed))
    dy = generator.standard_normal(problem.output_shape)
    arrays = [*parameters, x]
    directions = [generator.standard_normal(a.shape) for a in arrays]
    layer = layer_pass(problem, 1)
    layer.forward(x, tuple(parameters))
    dparameters, dx = layer.backward(dy, tuple(parameters), with_input=True)

    def value(index: int, step: float) -> float:
        moved = list(arrays)
        moved[index] = moved[index] + step * directions[index]
        return float((layer.forward(moved[-1], tuple(moved[:-1])) * dy).sum())

    # Small enough that hardly any maximum changes hands; where one does, the slope has a
    # kink and both one-sided differences bound the gradient instead.
    step = 1e-7
    for index, gradient in enumerate([*dparameters, dx]):
        expected = float((gradient * directions[index]).sum())
        here = value(index, 0.0)
        right, left = (value(index, step) - here) / step, (here - value(index, -step)) / step
        slack = 1e-5 * (1 + abs(dy).sum())
        assert min(left, right) - slack <= expected <= max(left, right) + slack


@given(problem=st.one_of(convolutions(), linears))
@settings(max_examples=20)
def test_the_number_of_threads_changes_no_bit(problem):
    x, *parameters = random_inputs(problem, 1)
    dy = np.random.default_rng(2).standard_normal(problem.output_shape, np.float32)
    results = []
    for threads in (1, 2, 5):
        layer = layer_pass(problem, threads)
        y = layer.forward(x, tuple(parameters))
        (dweights, dbias), dx = layer.backward(dy, tuple(parameters), with_input=True)
        results.append([y, dweights, dbias, dx])
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_without_input_the_gradient_of_the_input_is_of_no_images():
    problem = Conv2d(2, 1, 6, 6, 3, (3, 3))
    x, *parameters = random_inputs(problem, 0)
    layer = layer_pass(problem, 1)
    dy = layer.forward(x, tuple(parameters))
    both, dx = layer.backward(dy, tuple(parameters), with_input=True)
    alone, nothing = layer.backward(dy, tuple(parameters), with_input=False)
    assert dx.shape == x.shape
    assert nothing.shape == (0, 1, 6, 6)
    np.testing.assert_array_equal(both[0], alone[0])


@pytest.mark.parametrize("pool", [None, Pool.of("max", 2), Pool.of("average", 2)])
def test_nan_reaches_the_output_and_the_gradients(pool):
    problem = Conv2d(1, 1, 6, 6, 1, (3, 3), activation="relu", pool=pool)
    x, *parameters = random_inputs(problem, 0)
    x[0, 0, 2, 2] = np.nan
    layer = layer_pass(problem, 1)
    y = layer.forward(x, tuple(parameters))
    (dweights, _), _ = layer.backward(y, tuple(parameters), with_input=False)
    assert np.isnan(y).any()
    assert np.isnan(dweights).any()
