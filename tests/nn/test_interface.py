"""Every kind of output by every way to ask a network: all agree, and all prepare the inputs."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn import (
    ConvLayer,
    Interface,
    LinearLayer,
    Network,
    Pixels,
    Standardisation,
    load,
)
from rooftile.nn.data import FASHION
from rooftile.nn.tensors import read_tensors, write_tensors
from rooftile.nn.training import TrainingOptions, outputs, predict, train
from tests.support.stream_cases import streamed

KINDS = {
    "one sigmoid": (1, "sigmoid"),
    "one linear": (1, "none"),
    "sigmoids": (3, "sigmoid"),
    "softmax": (3, "softmax"),
    "linear": (3, "none"),
    "regression": (1, "none"),
    "regression of two": (2, "none"),
}
"""Outputs and the last activation."""
ROWS = 60
OPTIONS = TrainingOptions(epochs=30, batch=10, learning_rate=0.02, loss="squared_error")


def raw_rows(rows=ROWS):
    """Features of very different scales, which no network learns from as they are."""
    generator = np.random.default_rng(3)
    return generator.standard_normal((rows, 2)) * [1e-3, 50] + [7, 1e4]


def targets_of(kind, x):
    z = (x - [7, 1e4]) / [1e-3, 50]
    if kind.startswith("regression"):
        return (z @ [[2, 1], [-1, 3]])[:, : KINDS[kind][0]]
    if KINDS[kind][0] == 1:
        return (z[:, 0] > z[:, 1]).astype(np.int64)
    return np.digitize(z[:, 0], [-0.5, 0.5])


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    """The kind, and a network of it that was trained on raw rows."""
    kind, x = request.param, raw_rows()
    count, last = KINDS[kind]
    layers = [LinearLayer("hidden", 5, "tanh"), LinearLayer("last", count, last)]
    network = Network(layers, 2, standardisation=Standardisation.of(x))
    return kind, train(network, x, targets_of(kind, x), OPTIONS)


def expected_of(kind, network, x):
    """Outputs by the formulas in float64, and what they stand for; without those near a bound."""
    p = {name: value.astype(np.float64) for name, value in network.parameters.items()}
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    y = np.tanh(z @ p["hidden.weights"].T + p["hidden.bias"])
    y = y @ p["last.weights"].T + p["last.bias"]
    if KINDS[kind][1] == "sigmoid":
        y = 1 / (1 + np.exp(-y))
    if KINDS[kind][1] == "softmax":
        y = np.exp(y) / np.exp(y).sum(axis=1, keepdims=True)
    if kind.startswith("regression"):
        return y, y, np.ones(len(y), bool)
    if KINDS[kind][0] == 1:
        return y, (y[:, 0] > 0.5).astype(np.int64), abs(y[:, 0] - 0.5) > 1e-3
    second, first = np.sort(y, axis=1)[:, -2:].T
    return y, y.argmax(axis=1), first - second > 1e-3


def agree(found, expected, certain):
    assert found.dtype == (np.int64 if expected.dtype == np.int64 else np.float32)
    np.testing.assert_allclose(found[certain], expected[certain], rtol=1e-4, atol=1e-4)


def test_every_way_to_ask_agrees(trained, tmp_path):
    kind, network = trained
    x = raw_rows()
    y, expected, certain = expected_of(kind, network, x)
    ready = network.prepare(x)
    network.save(tmp_path / "f")
    loaded = load(tmp_path / "f")
    assert (loaded.standardisation, loaded.task) == (network.standardisation, network.task)
    for one in (network, loaded):
        for found in (
            one.predict(x),
            one.predict(ready, prepared=True),
            one.interface.predictions(one.plan(batch=7)(x)),
            one.interface.predictions(one.plan(batch=7, prepared=True)(ready)),
            predict(one, x),
            predict(one, ready, prepared=True),
            np.concatenate([one.predict(x[k : k + 1]) for k in range(len(x))]),
        ):
            agree(found, expected, certain)
        np.testing.assert_allclose(outputs(one, x), y, rtol=1e-4, atol=1e-4)
    if not kind.startswith("regression"):
        assert (expected == targets_of(kind, x)).mean() > 0.9


def test_a_device_and_its_stream_agree(trained, device):
    kind, network = trained
    x = raw_rows()
    _, expected, certain = expected_of(kind, network, x)
    name = device.description.kind
    agree(network.predict(x, device=name), expected, certain)
    ready = network.prepare(x)
    agree(network.predict(ready, device=name, prepared=True), expected, certain)
    with streamed(network, 40, device) as (_, stream):
        if kind.startswith("regression"):
            with pytest.raises(InputError, match="regression"):
                stream.classify(x)
        else:
            assert (stream.classify(x, segments=2) == expected)[certain].all()
            single = x.astype(np.float32)
            np.testing.assert_array_equal(stream.classify(single), network.predict(single))


def test_a_stream_refuses_rows_of_another_length(trained, device):
    _, network = trained
    with streamed(network, 4, device) as (_, stream), pytest.raises(InputError):
        stream.classify(np.ones((3, 5), np.float32))


def test_what_is_prepared_is_not_prepared_again():
    x = raw_rows()
    network = Network([LinearLayer("last", 3)], 2, standardisation=Standardisation.of(x))
    network = network.initialise(1)
    np.testing.assert_allclose(network.prepare(x).std(axis=0), 1, rtol=1e-5)
    np.testing.assert_array_equal(
        network.plan()(x), network.plan(prepared=True)(network.prepare(x))
    )
    assert not np.array_equal(network.plan(prepared=True)(x.astype(np.float32)), network.plan()(x))
    for plan in (network.plan(), network.plan(prepared=True)):
        assert pickle.loads(pickle.dumps(plan)).dtypes == plan.dtypes
    with pytest.raises(InputError, match="<f8"):
        network.plan(prepared=True)(x)


def test_an_older_file_keeps_its_standardisation(tmp_path):
    x = raw_rows()
    network = Network([LinearLayer("last", 1, "sigmoid")], 2).initialise(1)
    network.save(tmp_path / "old")
    tensors, metadata = read_tensors(tmp_path / "old")
    both = Standardisation.of(x)
    text = json.dumps({"mean": list(both.mean), "deviation": list(both.deviation)})
    write_tensors(tmp_path / "old", tensors, metadata | {"standardisation": text})
    loaded = load(tmp_path / "old")
    assert loaded.standardisation == both
    assert "standardisation" not in loaded.metadata
    expected = network.predict(both(x).astype(np.float32))
    np.testing.assert_array_equal(loaded.predict(x), expected)
    np.testing.assert_array_equal(Network([LinearLayer("last", 1, "sigmoid")], 2).load(
        tmp_path / "old").predict(x), expected)  # fmt: skip


def test_a_file_without_any_of_it_stays_as_it_was(tmp_path):
    Network([LinearLayer("last", 2)], 2).initialise(1).save(tmp_path / "plain")
    text = read_tensors(tmp_path / "plain")[1]["architecture"]
    assert set(json.loads(text)) == {"input_shape", "layers", "pixels"}


def test_images_of_numbers_are_standardised_by_channel():
    x = np.random.default_rng(0).standard_normal((6, 2, 4, 4), np.float32) * 3 + 5
    standardise = Standardisation.of(x)
    assert len(standardise.mean) == 2
    np.testing.assert_allclose(standardise(x).mean(axis=(0, 2, 3)), 0, atol=1e-5)
    layers = (ConvLayer("conv", 2, 3), LinearLayer("last", 3))
    network = Network("n", (2, 4, 4), layers, standardisation=standardise).initialise(0)
    ready = network.prepare(x)
    assert ready.dtype == np.float32
    np.testing.assert_array_equal(network.plan()(x), network.plan(prepared=True)(ready))
    np.testing.assert_array_equal(network.predict(x), predict(network, x))


def test_pictures_of_any_size_are_prepared_wherever_they_are_asked_for():
    images = np.random.default_rng(0).integers(0, 256, (9, 11, 13), np.uint8)
    network = Network("n", (1, 6, 6), (LinearLayer("last", 3),)).initialise(0)
    options = TrainingOptions(epochs=1, batch=4)
    trained = train(network, images, np.arange(9) % 3, options)
    assert trained.pixels == FASHION
    expected = trained.predict(trained.prepare(images))
    np.testing.assert_array_equal(trained.predict(images), expected)
    np.testing.assert_array_equal(predict(trained, images), expected)
    with pytest.raises(InputError, match="uint8"):
        trained.predict(images[:, :6, :6], prepared=True)
    with pytest.raises(InputError, match="prepared"):
        predict(trained, images, prepared=True)


def test_a_convolution_at_the_end_classifies_each_pixel():
    network = Network("n", (1, 5, 5), (ConvLayer("last", 3, 3),)).initialise(0)
    x = np.random.default_rng(0).standard_normal((2, 1, 5, 5), np.float32)
    labels = network.predict(x)
    assert labels.shape == (2, 3, 3)
    np.testing.assert_array_equal(labels, network.plan()(x).argmax(axis=1))


def interface(outputs, activation, **more):
    return Interface("n", (2,), (outputs,), activation, **more)


def test_shares_are_probabilities_once():
    y = np.array([[0.2, 0.7, 0.1]], np.float32)
    np.testing.assert_array_equal(interface(3, "softmax").shares(y), y)
    np.testing.assert_array_equal(interface(3, "sigmoid").shares(y), y)
    soft = np.exp(y) / np.exp(y).sum()
    np.testing.assert_allclose(interface(3, "none").shares(y), soft, rtol=1e-6)
    one = interface(1, "sigmoid").shares(np.array([[0.25], [0.9]], np.float32))
    np.testing.assert_allclose(one, [[0.75, 0.25], [0.1, 0.9]], rtol=1e-6)
    outside = interface(1, "none").shares(np.array([[-0.5], [1.5]], np.float32))
    np.testing.assert_array_equal(outside, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"task": "clustering"}, "task"),
        ({"pixels": Pixels(0.5, 0.5)}, "pixels"),
        ({"standardisation": Standardisation([0, 0, 0], [1, 1, 1])}, "standardisation"),
    ],
)
def test_what_does_not_fit_is_refused(given, named):
    with pytest.raises(InputError, match=named):
        Network("n", 2, [LinearLayer("last", 2)], **given)


@pytest.mark.parametrize(("mean", "deviation"), [(0, 0), ([1, 2], 1), (np.nan, 1), ([], [])])
def test_a_standardisation_of_no_numbers_is_refused(mean, deviation):
    with pytest.raises(InputError):
        Standardisation(mean, deviation)


def test_a_task_that_was_said_stays():
    x, network = raw_rows(), Network([LinearLayer("last", 3)], 2, task="classification")
    hot = np.eye(3)[targets_of("linear", x)]
    trained = train(network, x, hot, replace(OPTIONS, epochs=1))
    assert trained.predict(x.astype(np.float32)).dtype == np.int64
