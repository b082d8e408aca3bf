"""A step for each sample: the operation and the passes do the same; the deck's network learns."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn import LinearLayer, Network
from rooftile.nn.data import Standardisation, read_csv
from rooftile.nn.tensors import read_tensors
from rooftile.nn.training import Progress, TrainingOptions, predict, train
from rooftile.nn.training import loop as loops
from rooftile.nn.training.scores import Scores
from tests.support.training_tables import generated

DECK = Network(
    [
        LinearLayer("hidden1", 4, "softmax"),
        LinearLayer("hidden2", 5, "relu"),
        LinearLayer("hidden3", 5, "tanh"),
        LinearLayer("output", 1, "sigmoid"),
    ],
    4,
)
EACH = TrainingOptions(
    epochs=3, batch=1, loss="half_squared_error", optimizer="sgd", momentum=0.0,
    schedule="constant", learning_rate=0.01,
)  # fmt: skip
BANKNOTE = Path("../shared/banknote")


def standardised(rows: int, seed: int):
    x, labels = generated(rows, seed)
    return Standardisation.of(generated(1096)[0])(x), labels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_operation_and_the_passes_take_the_same_steps(dtype, monkeypatch):
    x, labels = standardised(40, 1)
    options = dataclasses.replace(EACH, dtype=dtype)
    fast = train(DECK, x, labels, options)
    monkeypatch.setattr(loops, "applies", lambda *_: False)
    slow = train(DECK, x, labels, options)
    for key, value in slow.parameters.items():
        np.testing.assert_allclose(fast.parameters[key], value, rtol=1e-5, atol=1e-6)


def test_the_decks_network_learns_a_table_of_the_same_shape():
    x, labels = standardised(1096, 0)
    trained = train(DECK, x, labels, dataclasses.replace(EACH, epochs=300))
    test, wanted = standardised(275, 1)
    scores = Scores.of(wanted, predict(trained, test), 2)
    assert scores.accuracy > 0.99
    assert scores.total == 275


def test_the_banknotes_are_learnt():
    if not BANKNOTE.is_dir():
        pytest.skip(f"no {BANKNOTE}: the banknote authentication data of UCI")
    table, test = (read_csv(BANKNOTE / f"data_{part}.csv") for part in ("train", "test"))
    standardise = Standardisation.of(table.features)
    options = dataclasses.replace(EACH, epochs=1000)
    trained = train(DECK, standardise(table.features), table.labels, options)
    scores = Scores.of(test.labels, predict(trained, standardise(test.features)), 2)
    assert scores.total - scores.right <= 1


def test_a_killed_run_ends_with_the_same_bits(tmp_path):
    x, labels = standardised(60, 2)
    options = dataclasses.replace(EACH, epochs=9, holdout=10)
    whole = train(DECK, x, labels, options)
    for moment in (1, 5, 8):
        path = tmp_path / str(moment)

        def stop(report: Progress, moment: int = moment) -> None:
            if report.epoch == moment:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(DECK, x, labels, options, checkpoint=path, progress=stop)
        resumed = train(DECK, x, labels, options, checkpoint=path, resume=True)
        for key, value in whole.parameters.items():
            np.testing.assert_array_equal(resumed.parameters[key], value)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_not_finite_stops_with_step_and_rate(tmp_path):
    """One row of huge numbers, at whose turn a network without bounds runs away."""
    x, labels = standardised(30, 3)
    x[7] = 1e20
    network = Network([LinearLayer("only", 1)], 4)
    path = tmp_path / "run"
    with pytest.raises(InputError, match=r"learning_rate: got 0\.01; .*loss is .* step (\d+)"):
        train(network, x, labels, EACH, checkpoint=path)
    tensors, _ = read_tensors(path)
    assert all(np.isfinite(tensor).all() for tensor in tensors.values())
    start = network.initialise(0).parameters["only.weights"]
    np.testing.assert_array_equal(tensors["parameters.only.weights"], start)


def test_a_last_row_whose_step_overflows_is_an_error(tmp_path):
    x, labels = standardised(1, 3)
    options = dataclasses.replace(EACH, epochs=1, learning_rate=3e38)
    network, path = Network([LinearLayer("only", 1)], 4), tmp_path / "run"
    with pytest.raises(InputError, match=r"only\.weights is not finite after epoch 1"):
        train(network, 100 * x, labels, options, checkpoint=path)
    assert not path.exists()


def test_scores_by_hand():
    scores = Scores.of(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 1, 2]), 4)
    np.testing.assert_array_equal(scores.confusion[1], [0, 1, 0, 0])
    assert (scores.right, scores.accuracy) == (3, 0.6)
    assert [scores.precision(k) for k in range(4)] == [1, pytest.approx(1 / 3), 1, None]
    assert [scores.recall(k) for k in range(4)] == [0.5, 1, 0.5, None]


def test_a_trainer_that_never_learns_mostly_predicts_one_class():
    """The parallel program reads its rate "0.01" as a whole number, zero: what it predicts is what
    its first weights say, uniform up to sqrt(6 / (inputs + outputs)) and biases likewise."""
    test, _ = generated(275, 1)
    columns = []
    for seed in range(20):
        generator, parameters = np.random.default_rng(seed), {}
        for key, shape in DECK.parameter_shapes.items():
            inputs, outputs = DECK.parameter_shapes[key.replace("bias", "weights")]
            most = np.sqrt(6 / (inputs + outputs))
            parameters[key] = generator.uniform(-most, most, shape).astype(np.float32)
        predicted = predict(DECK.with_parameters(parameters), test)
        columns.append(len(np.unique(predicted)))
    assert columns.count(1) > 10
