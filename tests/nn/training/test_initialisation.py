"""First weights: their distributions, who chooses them, and that the default learns."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import rooftile
from rooftile.nn import MODELS, ConvLayer, LinearLayer, Network
from rooftile.nn.initialisation import DEFAULT, RULES
from rooftile.nn.serialisation import from_text, to_text
from rooftile.nn.training import TrainingOptions, train
from rooftile.nn.training.watch import constant_loss

WIDE = Network(
    "wide", (40, 6, 6), (ConvLayer("conv", 60, 3, activation="relu"), LinearLayer("last", 300))
)
FAN_IN, FAN_OUT = 40 * 9, 60 * 9
VARIANCE = {
    "kaiming_uniform": 1 / (3 * FAN_IN),
    "he": 2 / FAN_IN,
    "glorot": 2 / (FAN_IN + FAN_OUT),
    "lecun": 1 / FAN_IN,
}


@pytest.mark.parametrize("init", RULES)
def test_weights_have_the_variance_of_their_rule(init):
    made = WIDE.initialise(3, init).parameters
    weights, bias = made["conv.weights"], made["conv.bias"]
    # Of 21,600 numbers; the deviation of a sample's variance is 1 % of it.
    assert weights.var() == pytest.approx(VARIANCE[init], rel=0.05)
    assert abs(weights.mean()) < 5 * math.sqrt(VARIANCE[init] / weights.size)
    if init in ("kaiming_uniform", "glorot"):
        assert np.abs(weights).max() <= math.sqrt(3 * VARIANCE[init]) * (1 + 1e-6)
    if init == "kaiming_uniform":
        assert 0 < np.abs(bias).max() <= 1 / math.sqrt(FAN_IN) * (1 + 1e-6)
    else:
        assert not bias.any()


def test_he_draws_the_numbers_that_it_always_drew():
    """The weights that ship, and the recorded trainings, began with them."""
    for name in MODELS:
        network, generator = MODELS[name], np.random.default_rng(5)
        made = network.initialise(5).parameters
        for key, shape in network.parameter_shapes.items():
            expected = np.zeros(shape, np.float32)
            if key.endswith("weights"):
                scale = np.float32(math.sqrt(2 / math.prod(shape[1:])))
                expected = generator.standard_normal(shape, np.float32) * scale
            np.testing.assert_array_equal(made[key], expected)


def test_who_is_asked_first_chooses():
    own = Network([LinearLayer("a", 5, init="he"), LinearLayer("b", 4)], 7)
    same = lambda one, other: all(  # noqa: E731
        np.array_equal(one.parameters[key], other.parameters[key]) for key in own.parameter_shapes
    )
    plain = Network([LinearLayer("a", 5), LinearLayer("b", 4)], 7)
    assert same(plain.initialise(1), plain.initialise(1, DEFAULT))
    assert same(own.initialise(1, "lecun"), plain.initialise(1, "lecun"))
    mixed, he = own.initialise(1).parameters, plain.initialise(1, "he").parameters
    np.testing.assert_array_equal(mixed["a.weights"], he["a.weights"])
    small = own.initialise(1, last_scale=0.5).parameters
    np.testing.assert_array_equal(small["a.weights"], mixed["a.weights"])
    np.testing.assert_array_equal(small["b.weights"], mixed["b.weights"] * np.float32(0.5))


def test_what_a_layer_says_goes_into_files_and_nothing_else_does():
    own = Network([LinearLayer("a", 5, init="lecun"), LinearLayer("b", 4)], 7)
    assert from_text(to_text(own), "here")[1] == own.layers
    assert to_text(own).count("init") == 1


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("init", lambda: WIDE.initialise(0, "xavier")),
        ("init", lambda: LinearLayer("a", 3, init=3)),
        ("init", lambda: ConvLayer("a", 3, 3, init="kaiming")),
        ("init", lambda: TrainingOptions(init="")),
        ("last_scale", lambda: TrainingOptions(last_scale=0)),
        ("last_scale", lambda: WIDE.initialise(0, last_scale=math.nan)),
        ("init", lambda: trained(TrainingOptions(init="he"), Network([LinearLayer("o", 3)], 4))),
    ],
)
def test_what_is_no_rule_is_refused(argument, call):
    with pytest.raises(rooftile.InputError) as refusal:
        call()
    assert refusal.value.argument == argument


def trained(options, network):
    x = np.zeros((6, 4), np.float32)
    return train(network.initialise(0), x, np.arange(6) % 3, options)


STRANGER = Network(
    "stranger",
    (3, 32, 32),
    (
        ConvLayer("conv1", 32, 3, 2, activation="relu"),
        ConvLayer("conv2", 64, 3, 2, activation="relu"),
        LinearLayer("last", 10),
    ),
)


def strange_images(count):
    """Images of ten classes, each with a pattern of its own under three times as much noise; their
    numbers are as large as those that nobody scaled."""
    generator = np.random.default_rng(0)
    patterns = np.kron(generator.standard_normal((10, 3, 8, 8)), np.ones((1, 1, 4, 4)))
    labels = generator.integers(0, 10, count)
    noise = generator.standard_normal((count, 3, 32, 32))
    return (6 * (patterns[labels] + 3 * noise)).astype(np.float32), labels


def epochs_of(init, **options):
    ends, (x, labels) = [], strange_images(512)
    options = {"epochs": 3, "learning_rate": 0.01, "momentum": 0.9, "init": init, **options}
    train(
        STRANGER,
        x,
        labels,
        TrainingOptions(batch=64, optimizer="sgd", **options),
        progress=lambda p: ends.append(p) if p.step == p.steps else None,
    )
    return ends


def test_the_default_learns_where_he_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = epochs_of(None)
    assert ends[-1].loss < 0.2
    assert all(end.warning is None for end in ends)


def test_a_loss_that_does_not_move_is_told_once():
    with pytest.warns(rooftile.TrainingWarning, match="has not moved") as told:
        ends = epochs_of("he", epochs=4, schedule="constant")
    assert len(told) == 1
    assert told[0].filename == __file__
    assert ends[-1].loss == pytest.approx(math.log(10), abs=0.05)
    assert [end.warning for end in ends] == [None, None, str(told[0].message), None]


@pytest.mark.parametrize(("activation", "bias"), [("relu", -1e6), ("tanh", 1e6), ("sigmoid", 1e6)])
def test_a_dead_layer_is_told_by_its_name(activation, bias):
    layers = [LinearLayer("first", 5), LinearLayer("hidden", 6, activation), LinearLayer("o", 3)]
    start = Network(layers, 4).initialise(0)
    values = {**start.parameters, "hidden.bias": np.full(6, bias, np.float32)}
    generator = np.random.default_rng(1)
    x, labels = generator.standard_normal((90, 4), np.float32), np.arange(90) % 3
    options = TrainingOptions(epochs=4, batch=30, learning_rate=1e-3)
    with pytest.warns(rooftile.TrainingWarning, match="every activation of hidden is dead") as told:
        train(start.with_parameters(values), x, labels, options)
    assert len(told) == 1


LABELS = np.array([0, 0, 0, 2])
CONSTANT = {
    "cross_entropy": -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)),
    "squared_error": 2 * 0.75 * 0.25,
    "half_squared_error": 0.75 * 0.25,
    "missed": 0.25,
    "squared_distance": 0.75 * 1 + 0.25 * 1,
}


@pytest.mark.parametrize("loss", CONSTANT)
def test_a_constant_answers_loss(loss):
    assert constant_loss(TrainingOptions(loss=loss), LABELS, 3) == pytest.approx(CONSTANT[loss])
