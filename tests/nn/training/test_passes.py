"""A layer's passes against references in float64: their operations have tests of their own."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.nn.training.passes import layer_pass
from rooftile.ops import Conv2d, Linear, Pool

# More images than are convolved at once, and not a multiple of them; steps below and above windows.
LAYERS = (
    Conv2d(19, 2, 9, 12, 3, (3, 2), (1, 1), (1, 1), "relu", Pool.of("max", 2)),
    Conv2d(3, 1, 11, 13, 2, (2, 3), (2, 1), (0, 2), "tanh", Pool.of("max", (3, 2), (2, 3))),
    Conv2d(3, 2, 8, 9, 3, (3, 3), activation="sigmoid", pool=Pool.of("average", 2, 1)),
    Conv2d(4, 2, 7, 8, 3, (3, 3), padding=(1, 1), activation="relu"),
    Linear(5, 40, 9, "relu"),
    Linear(3, 7, 2, "sigmoid"),
)


@pytest.mark.parametrize("problem", LAYERS)
def test_forward_is_within_the_budget_of_the_reference(problem):
    x, *parameters = problem.random(0)
    y = layer_pass(problem, 2).forward(x, tuple(parameters))
    verdict = Expected(problem, x, *parameters).judge(y, "ieee")
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize("problem", LAYERS)
def test_gradients_are_those_of_finite_differences(problem):
    generator = np.random.default_rng(3)
    x, *parameters = problem.random(3)
    dy = generator.standard_normal(problem.output_shape, np.float32)
    arrays = [a.astype(np.float64) for a in (x, *parameters)]
    directions = [generator.standard_normal(a.shape) for a in arrays]
    layer = layer_pass(problem, 1)
    layer.forward(x, tuple(parameters))
    dparameters, dx = layer.backward(dy, tuple(parameters), with_input=True)

    def value(index: int, step: float) -> float:
        moved = list(arrays)
        moved[index] = moved[index] + step * directions[index]
        return float((problem.reference(*moved) * dy).sum())

    # Small enough that hardly any maximum changes hands; where one does, the slope has a
    # kink and both one-sided differences bound the gradient instead.
    step = 1e-7
    for index, gradient in enumerate([dx, *dparameters]):
        expected = float((gradient * directions[index]).sum())
        here = value(index, 0.0)
        right, left = (value(index, step) - here) / step, (here - value(index, -step)) / step
        slack = 1e-5 * (1 + abs(dy).sum())
        assert min(left, right) - slack <= expected <= max(left, right) + slack


@pytest.mark.parametrize("problem", LAYERS)
def test_the_number_of_threads_changes_no_bit(problem):
    x, *parameters = problem.random(1)
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


def test_parameters_and_batches_may_change_from_call_to_call():
    problem = LAYERS[0]
    x, *parameters = problem.random(0)
    layer = layer_pass(problem, 1)
    layer.forward(x, tuple(parameters))
    for count, factor in ((19, 2), (4, 1)):
        given = tuple(factor * p for p in parameters)
        verdict = Expected(problem.with_batch(count), x[:count], *given).judge(
            layer.forward(x[:count], given), "ieee"
        )
        assert verdict.passed, verdict.reason


@pytest.mark.parametrize("problem", LAYERS[-3:-1])
def test_without_input_the_gradient_of_the_input_is_of_no_images(problem):
    x, *parameters = problem.random(0)
    layer = layer_pass(problem, 1)
    dy = layer.forward(x, tuple(parameters))
    both, dx = layer.backward(dy, tuple(parameters), with_input=True)
    alone, nothing = layer.backward(dy, tuple(parameters), with_input=False)
    assert dx.shape == x.shape
    assert nothing.shape == (0, *x.shape[1:])
    np.testing.assert_array_equal(both[0], alone[0])


@pytest.mark.parametrize("problem", [LAYERS[0], *LAYERS[2:4]])
def test_nan_reaches_the_output_and_the_gradients(problem):
    x, *parameters = problem.random(0)
    x[0, 0, 2, 2] = np.nan
    layer = layer_pass(problem, 1)
    y = layer.forward(x, tuple(parameters))
    (dweights, _), _ = layer.backward(y, tuple(parameters), with_input=False)
    assert np.isnan(y).any()
    assert np.isnan(dweights).any()


def test_pools_without_a_gradient_here_are_refused():
    for pool in (Pool.of("l2", 2), Pool.of("max", 2, None, "sigmoid")):
        with pytest.raises(InputError, match="a maximum or an average"):
            layer_pass(Conv2d(1, 1, 6, 6, 1, (3, 3), pool=pool), 1)
