from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn.training.optimisers import optimiser
from rooftile.nn.training.options import TrainingOptions


def run(options: TrainingOptions, gradients, start=2.0, rate=0.1):
    """The path of a single weight."""
    parameters = {"a.weights": np.full((1, 1), start)}
    rule, path = optimiser(options, parameters), []
    for gradient in gradients:
        rule.step(parameters, {"a.weights": np.full((1, 1), gradient)}, rate)
        path.append(parameters["a.weights"].item())
    return path


def test_momentum_by_hand():
    # velocities 1, 0.5, 2.25
    path = run(TrainingOptions(optimizer="sgd", momentum=0.5), [1, 0, 2])
    assert path == pytest.approx([1.9, 1.85, 1.625])


def test_adam_by_hand():
    # Means freed of bias: 1, then (0.9 * 0.1 + 0.1 * 3) / 0.19; squares 1, then the like of 9.
    mean, square = (0.09 + 0.3) / 0.19, (0.999 * 0.001 + 0.001 * 9) / (1 - 0.999**2)
    path = run(TrainingOptions(optimizer="adam"), [1, 3])
    assert path == pytest.approx([1.9, 1.9 - 0.1 * mean / np.sqrt(square)], rel=1e-6)


@pytest.mark.parametrize("gradient", [1e-6, 1.0, 1e6])
def test_adams_first_step_is_the_rate_whatever_the_scale(gradient):
    assert run(TrainingOptions(optimizer="adam"), [gradient]) == pytest.approx([1.9], abs=1e-3)


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_weights_decay_and_biases_do_not(name):
    options = TrainingOptions(optimizer=name, weight_decay=0.5)
    parameters = {"a.weights": np.ones((2, 2), np.float32), "a.bias": np.ones(2, np.float32)}
    zero = {key: np.zeros_like(value) for key, value in parameters.items()}
    optimiser(options, parameters).step(parameters, zero, 0.1)
    np.testing.assert_allclose(parameters["a.weights"], 0.95)
    np.testing.assert_array_equal(parameters["a.bias"], 1)


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_both_descend_an_ill_conditioned_bowl_and_keep_float32(name):
    parameters = {"a.weights": np.array([[3.0, -2.0]], np.float32)}
    rule = optimiser(TrainingOptions(optimizer=name), parameters)
    for step in range(800):
        curvature = np.array([[1.0, 20.0]], np.float32)
        rule.step(parameters, {"a.weights": parameters["a.weights"] * curvature},
                  0.02 * (1 - step / 800))  # fmt: skip
    assert abs(parameters["a.weights"]).max() < 0.1
    assert parameters["a.weights"].dtype == np.float32
