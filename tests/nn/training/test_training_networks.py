"""Networks of any layers and losses: gradients, dropout, early stopping, both dtypes."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooftile
from rooftile.errors import InputError
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.nn.training import Progress, TrainingOptions, outputs, predict, train
from rooftile.nn.training.activation_passes import DropoutPass
from rooftile.nn.training.losses import loss_of
from rooftile.nn.training.model import Model

SMOOTH = ("none", "sigmoid", "softplus", "tanh", "gelu", "softmax")
LOSSES = ("cross_entropy", "squared_error", "half_squared_error", "missed", "squared_distance")


def two_moons(count: int, seed: int):
    """Two classes of points that no line parts."""
    generator = np.random.default_rng(seed)
    angle, label = generator.uniform(0, np.pi, count), generator.integers(0, 2, count)
    x = np.stack([np.cos(angle) + label, np.sin(angle) * (1 - 2 * label) + label / 2], 1)
    return (x + 0.05 * generator.standard_normal(x.shape)).astype(np.float32), label


def mlp(*activations: str, outputs: int = 3) -> Network:
    sizes = [5] * (len(activations) - 1) + [outputs]
    layers = [
        LinearLayer(f"l{k}", size, name)
        for k, (size, name) in enumerate(zip(sizes, activations, strict=True))
    ]
    return Network(layers, 4)


def slope(model, parameters, key, direction, x, targets, step):
    def loss(way: float) -> float:
        moved = parameters | {key: parameters[key] + way * step * direction}
        return model.loss_and_gradients(moved, x, targets)[0]

    return (loss(1) - loss(-1)) / (2 * step)


@settings(max_examples=25)
@given(
    st.sampled_from(SMOOTH), st.sampled_from(SMOOTH), st.sampled_from(SMOOTH),
    st.sampled_from(LOSSES), st.integers(0, 99),
)  # fmt: skip
def test_gradients_are_those_of_finite_differences(first, second, last, loss, seed):
    if loss == "cross_entropy":
        last = "softmax" if last == "softmax" else "none"
    network, generator = mlp(first, second, last).initialise(seed), np.random.default_rng(seed)
    model = Model(network, 1, loss, dtype="float64")
    x, labels = generator.standard_normal((6, 4)), generator.integers(0, 3, 6)
    parameters = {key: p.astype(np.float64) for key, p in network.parameters.items()}
    _, gradients = model.loss_and_gradients(parameters, x, labels)
    for key, value in parameters.items():
        direction = generator.standard_normal(value.shape)
        expected = slope(model, parameters, key, direction, x, labels, 1e-5)
        assert (gradients[key] * direction).sum() == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])
def test_one_sigmoid_output_is_the_probability_of_class_one(loss):
    network, generator = mlp("relu", "sigmoid", outputs=1).initialise(0), np.random.default_rng(1)
    x, labels = generator.standard_normal((9, 4)), generator.integers(0, 2, 9)
    model = Model(network, 1, loss, dtype="float64")
    parameters = {key: p.astype(np.float64) for key, p in network.parameters.items()}
    found, gradients = model.loss_and_gradients(parameters, x, labels)
    p = model.scores(parameters, x)[:, 0]
    right = np.where(labels == 1, p, 1 - p)
    losses = -np.log(right) if loss == "cross_entropy" else (p - labels) ** 2
    assert found == pytest.approx(losses.mean())
    direction = generator.standard_normal(parameters["l0.weights"].shape)
    expected = slope(model, parameters, "l0.weights", direction, x, labels, 1e-6)
    assert (gradients["l0.weights"] * direction).sum() == pytest.approx(expected, rel=1e-5)


def test_losses_by_hand():
    k, labels = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]), np.array([1, 2])
    assert loss_of("missed", 3, "softmax")(k, labels)[0] == pytest.approx((0.5 + 0.9) / 2)
    assert loss_of("squared_distance", 3, "softmax")(k, labels)[0] == pytest.approx(
        (0.2 + 0.3 + 4 * 0.6 + 0.3) / 2
    )
    squared = (0.04 + 0.25 + 0.09 + 0.36 + 0.09 + 0.81) / 2
    assert loss_of("squared_error", 3, "none")(k, labels)[0] == pytest.approx(squared)
    assert loss_of("half_squared_error", 3, "none")(k, labels)[0] == pytest.approx(squared / 2)
    wanted = np.array([[0.0, 1, 0], [0, 0, 1]])
    assert loss_of("squared_error", 3, "none")(k, wanted)[0] == pytest.approx(squared)


@pytest.mark.parametrize(
    "change",
    [{"batch": 16, "optimizer": "sgd", "learning_rate": 0.3, "weight_decay": 1e-4},
     {"batch": None, "learning_rate": 0.05, "schedule": "constant"}],
    ids=["mini-batches", "all at once"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_mlp_learns_two_moons(change, dtype):
    x, labels = two_moons(300, 0)
    network = Network(
        [LinearLayer("h1", 8, "tanh"), LinearLayer("h2", 8, "softplus"),
         LinearLayer("out", 2, "softmax")], 2)  # fmt: skip
    epochs = 150 if change["batch"] is None else 15
    options = TrainingOptions(epochs=epochs, dtype=dtype, **change)
    trained = train(network, x, labels, options)
    assert (predict(trained, two_moons(200, 1)[0]) == two_moons(200, 1)[1]).mean() > 0.97
    np.testing.assert_allclose(outputs(trained, x).sum(axis=1), 1, rtol=1e-5)


def test_a_regression_with_numbers_as_targets():
    x = np.random.default_rng(0).standard_normal((200, 3))
    wanted = x @ np.array([[1.0, 0], [0, -2], [0.5, 1]]) + 0.25
    network = Network([LinearLayer("only", 2)], 3)
    options = TrainingOptions(
        epochs=60, batch=8, loss="half_squared_error", optimizer="sgd", momentum=0.0,
        learning_rate=0.1,
    )  # fmt: skip
    trained = train(network, x, wanted, options)
    np.testing.assert_allclose(trained.parameters["only.bias"], 0.25, atol=1e-3)


def test_a_plan_computes_a_softmax_in_the_midst():
    network = mlp("softmax", "relu", "softmax").initialise(0)
    x = np.random.default_rng(1).standard_normal((7, 4)).astype(np.float32)
    np.testing.assert_allclose(network.plan(batch=4)(x), outputs(network, x), atol=1e-6)
    assert "l0.softmax" in network.plan().strategies


def test_gelu_is_trained_by_its_input():
    """In float32, where layers fuse what their gradients do not need the input of."""
    layers = [ConvLayer("c", 3, 3, activation="gelu"), LinearLayer("h", 5, "gelu")]
    network = Network([*layers, LinearLayer("o", 2)], (1, 5, 6)).initialise(1)
    generator = np.random.default_rng(2)
    x = generator.standard_normal((4, 1, 5, 6)).astype(np.float32)
    labels = np.array([0, 1, 1, 0])
    model, parameters = Model(network, 1, "cross_entropy"), network.parameters
    np.testing.assert_allclose(network.plan(batch=4)(x), outputs(network, x), atol=1e-6)
    _, gradients = model.loss_and_gradients(parameters, x, labels)
    for key, value in parameters.items():
        direction = generator.standard_normal(value.shape).astype(np.float32)
        found = (gradients[key] * direction).sum()
        wanted = slope(model, parameters, key, direction, x, labels, 1e-2)
        assert found == pytest.approx(wanted, rel=2e-2, abs=2e-4)


def test_a_pool_keeps_no_input_of_gelu():
    layers = [ConvLayer("c", 2, 1, activation="gelu", pool=("max", 1)), LinearLayer("l", 2)]
    network = Network(layers, (1, 3, 4)).initialise(0)
    x = np.random.default_rng(0).standard_normal((3, 1, 3, 4)).astype(np.float32)
    assert network.plan(batch=3)(x).shape == (3, 2)
    with pytest.raises(InputError, match="gelu before a pool, of layer c"):
        train(network, x, np.zeros(3, int), TrainingOptions(epochs=1))


def test_features_are_saved_and_loaded(tmp_path):
    network = mlp("softmax", "softplus", "none").initialise(3)
    network.save(tmp_path / "mlp.safetensors")
    loaded = rooftile.load(tmp_path / "mlp.safetensors")
    x = np.ones((2, 4), np.float32)
    assert loaded.input_shape == (4,)
    np.testing.assert_array_equal(outputs(loaded, x), outputs(network, x))


def test_dropout_keeps_the_mean_and_is_off_when_nothing_is_learnt():
    dropout, x = DropoutPass(0.25), np.ones((200, 50))
    assert dropout.forward(x, ()) is x
    dropout.generator = np.random.default_rng(0)
    y = dropout.forward(x, ())
    assert set(np.unique(y)) == {0, 1 / 0.75}
    assert y.mean() == pytest.approx(1, abs=0.02)
    np.testing.assert_array_equal(dropout.backward(x, (), with_input=True)[1], y)


def test_the_best_epochs_weights_are_given_back():
    """Labels that are noise can be learnt by heart only: the held-out loss rises soon."""
    generator = np.random.default_rng(0)
    x, labels = generator.standard_normal((120, 4)), generator.integers(0, 3, 120)
    reports: list[Progress] = []
    options = TrainingOptions(
        epochs=200, batch=10, learning_rate=0.02, holdout=60, patience=5, schedule="constant"
    )
    network = mlp("relu", "relu", "none")
    trained = train(network, x, labels, options, progress=reports.append)
    losses = [report.holdout_loss for report in reports if report.holdout_loss is not None]
    assert len(losses) < 200
    assert int(np.argmin(losses)) == len(losses) - 1 - 5
    model = Model(network, 1)
    held = model.loss(trained.parameters, x[60:].astype(np.float32), labels[60:])
    assert held == pytest.approx(min(losses), rel=1e-5)


def test_stopped_anywhere_and_resumed_a_run_ends_with_the_same_bits(tmp_path):
    x, labels = two_moons(90, 2)
    options = TrainingOptions(epochs=5, batch=8, dropout=0.2, holdout=20, patience=4)
    network = Network([LinearLayer("h", 6, "relu"), LinearLayer("o", 2)], 2)
    whole = train(network, x, labels, options)
    draw, path = random.Random(7), tmp_path / "run"
    for _ in range(4):
        path.unlink(missing_ok=True)
        moment = draw.randrange(1, 45)
        seen = 0

        def stop(report: Progress, moment: int = moment) -> None:
            nonlocal seen
            seen += 1
            if seen == moment:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(network, x, labels, options, checkpoint=path, progress=stop)
        after: list[Progress] = []
        resumed = train(
            network, x, labels, options, checkpoint=path, resume=True, progress=after.append
        )
        assert len(after) == 45 - moment
        for key, value in whole.parameters.items():
            np.testing.assert_array_equal(resumed.parameters[key], value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mlp("sign", "none"), "sign"),
        (lambda: mlp("relu", "softsign"), "softsign"),
        (lambda: ConvLayer("c", 2, 3, activation="softmax"), "softmax"),
        (lambda: ConvLayer("c", 2, 3, activation="softplus", pool=("max", 2)), "softplus"),
        (lambda: Network([LinearLayer("a", 2)], (3, 4)), "input_shape"),
        (lambda: Network([LinearLayer("a", 2)], 0), "features"),
        (lambda: Network([ConvLayer("a", 2, 1)], 4), "images"),
    ],
)
def test_what_makes_no_sense_is_named(build, message):
    with pytest.raises(InputError, match=message):
        train(build(), np.zeros((3, 4), np.float32), np.zeros(3, int), TrainingOptions(epochs=1))


def test_losses_that_do_not_fit_the_outputs():
    x, labels = np.zeros((3, 4), np.float32), np.zeros(3, int)
    for network, loss in (
        (mlp("relu", "tanh"), "cross_entropy"), (mlp("none", outputs=1), "missed"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=loss):
            train(network, x, labels, TrainingOptions(epochs=1, loss=loss))
    with pytest.raises(InputError, match="squared"):
        train(mlp("none"), x, np.zeros((3, 3)), TrainingOptions(epochs=1, loss="missed"))
    conv = Network([ConvLayer("c", 2, 3), LinearLayer("l", 2)], (1, 4, 4))
    with pytest.raises(InputError, match="float64"):
        train(conv, np.zeros((3, 1, 4, 4)), labels, TrainingOptions(epochs=1, dtype="float64"))
    assert dataclasses.replace(TrainingOptions(), batch=None).batch is None
