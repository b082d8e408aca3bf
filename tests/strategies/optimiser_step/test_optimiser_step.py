"""Every rung of `optimiser_step`, and that its steps are those of a training on the CPU."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn.training import TrainingOptions
from rooftile.nn.training.optimisers import optimiser
from rooftile.ops.gradients.optimiser_step import NAMED, OptimiserStep
from tests.support.every_rung import EveryRung, Wrong

SGD = OptimiserStep(1003, decayed=700, steps=3)
ADAM = OptimiserStep(701, "adam", 0.8, 400, 2)
SCALED = OptimiserStep(903, "adam", decayed=500, scaled=True)


class TestRungs(EveryRung):
    problems = (SCALED, OptimiserStep(300, scaled=True), ADAM, SGD)
    near = (SGD, OptimiserStep(97, "adam"))
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        SGD,
        ("naive", "i < DECAYED", "i <= DECAYED"),
        (
            "naive",
            "MOMENTUM * velocity[i] + gradients[i]",
            "MOMENTUM * (velocity[i] + gradients[i])",
        ),
        ("fused", "new_velocity[i] = moved;\n    new_parameters", "new_parameters"),
        ("fused", "step[0] - 1", "step[0] - 2 + (step[0] < 2)"),
    )


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_steps_are_those_of_a_training_on_the_cpu(name):
    options = TrainingOptions(epochs=1, optimizer=name, weight_decay=0.1, momentum=0.8)
    generator = np.random.default_rng(0)
    weights = {"layer.weights": generator.standard_normal(40)}
    rule = optimiser(options, weights)
    problem = OptimiserStep(40, name, 0.8, 40)
    made = (weights["layer.weights"].copy(), *(np.zeros(40) for _ in problem.memories))
    for number in (1, 2, 3):
        gradient, rate, root = generator.standard_normal(40), 0.01, 1.0
        rule.step(weights, {"layer.weights": gradient}, rate)
        kept = 1 - rate * 0.1
        if name == "adam":
            rate, root = rate / (1 - 0.8**number), math.sqrt(1 - 0.999**number)
        rates = np.array([[rate, kept, root, 0]])
        made = problem.reference(made[0], gradient, *made[1:], rates, np.ones(1, np.int32))
        np.testing.assert_allclose(made[0], weights["layer.weights"], rtol=1e-6)


@pytest.mark.parametrize(("counted", "expected"), [(0, [1024, 1]), (1999, [2048, 0])])
def test_the_scale_doubles_after_steps_without_an_overflow(counted, expected):
    given = [*SCALED.random(0)]
    given[-1] = np.array([1024, counted], np.float32)
    assert SCALED.reference(*given)[-1].tolist() == expected


def test_an_overflow_changes_the_scale_alone():
    given = [*SCALED.random(0)]
    given[1][5] = np.inf
    parameters, mean, square, scaling = SCALED.reference(*given)
    for new, old in zip((parameters, mean, square), (given[0], *given[2:4]), strict=True):
        np.testing.assert_array_equal(new, old)
    assert scaling.tolist() == [given[-1][0] / 2, 0]


@pytest.mark.parametrize(
    "wrong",
    [{"size": 0}, {"optimizer": "newton"}, {"momentum": 1.0}, {"decayed": -1}, {"steps": 0}],
)
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(SGD, **wrong)
