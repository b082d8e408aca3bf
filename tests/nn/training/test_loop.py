from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels, architecture
from rooftile.nn.data import ImageSet, fashion, load_images, prepare
from rooftile.nn.tensors import read_tensors, write_tensors
from rooftile.nn.training import Progress, TrainingOptions, predict, train, with_record
from rooftile.nn.training.losses import cross_entropy
from rooftile.nn.training.model import Model
from rooftile.ops import Pool

NETWORK = Network(
    "tiny",
    (1, 14, 14),
    (ConvLayer("conv1", 4, 3, padding=1, activation="relu", pool=Pool.of("max", 2)),
     LinearLayer("linear1", 10)),
)  # fmt: skip
SAMPLE = load_images(data=fashion.SAMPLE_DIRECTORY)
IMAGES, LABELS = SAMPLE.images[:150], SAMPLE.labels[:150]
WITH_NAN = NETWORK.prepare(IMAGES)
WITH_NAN[140, 0, 3, 5] = np.nan
OPTIONS = TrainingOptions(
    epochs=4, batch=32, seed=3, learning_rate=5e-3, flip=True, shift=1, threads=2
)


class Stopped(Exception):
    pass


def stop_after(epoch: int):
    def report(progress: Progress) -> None:
        if (progress.epoch, progress.step) == (epoch + 1, 2):
            raise Stopped

    return report


def same(one: Network, other: Network) -> bool:
    return all(np.array_equal(one.parameters[k], other.parameters[k]) for k in one.parameters)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_training_learns_images_it_has_not_seen(optimiser):
    rate = 5e-3 if optimiser == "adam" else 5e-2
    options = TrainingOptions(epochs=6, batch=25, optimizer=optimiser, learning_rate=rate)
    trained = train(NETWORK, SAMPLE.images[:700], SAMPLE.labels[:700], options)
    right = predict(trained, SAMPLE.images[700:]) == SAMPLE.labels[700:]
    assert right.mean() > 0.6


def test_a_small_lenet5_learns():
    options = TrainingOptions(epochs=3, batch=20)
    losses = {}
    train(architecture("lenet5"), IMAGES, LABELS, options,
          progress=lambda p: losses.__setitem__((p.epoch, p.step), p.loss))  # fmt: skip
    assert losses[3, 8] < 0.8 * losses[1, 8]


SMOOTH = Network(
    "smooth",
    (1, 9, 9),
    (ConvLayer("c1", 3, 3, activation="tanh", pool=Pool.of("average", 2, 1)),
     ConvLayer("c2", 2, 2, padding=1, activation="sigmoid"),
     LinearLayer("l1", 6, "tanh"), LinearLayer("l2", 4)),
)  # fmt: skip


def exact_loss(parameters, x, labels):
    """The loss of `SMOOTH` by the layers' references, in float64."""
    for name, problem in SMOOTH.problems(len(x)):
        own = (parameters[f"{name}.{kind}"] for kind in problem.parameter_shapes)
        x = problem.reference(x.reshape(problem.input_shape), *own)
    return cross_entropy(x, labels)[0]


def test_the_gradient_of_a_whole_network_is_that_of_finite_differences():
    network, generator = SMOOTH.initialise(0), np.random.default_rng(1)
    x = generator.standard_normal((5, 1, 9, 9), np.float32)
    labels = generator.integers(0, 4, 5)
    exact = {k: p.astype(np.float64) for k, p in network.parameters.items()}
    loss, gradients = Model(network, 1).loss_and_gradients(network.parameters, x, labels)
    assert loss == pytest.approx(exact_loss(exact, x, labels), rel=1e-6)
    for key, value in exact.items():
        direction = generator.standard_normal(value.shape)
        ahead, behind = (
            exact_loss(exact | {key: value + step * direction}, x, labels) for step in (1e-5, -1e-5)
        )
        slope = (ahead - behind) / 2e-5
        assert (gradients[key] * direction).sum() == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_images_of_another_dtype_are_refused():
    with pytest.raises(InputError, match="float64"):
        Model(SMOOTH, 1).scores(SMOOTH.initialise(0).parameters, np.zeros((1, 1, 9, 9)))


def test_equal_seeds_give_equal_bits_and_other_seeds_do_not():
    one = train(NETWORK, IMAGES, LABELS, OPTIONS)
    again = train(NETWORK, IMAGES, LABELS, dataclasses.replace(OPTIONS, threads=1))
    other = train(NETWORK, IMAGES, LABELS, dataclasses.replace(OPTIONS, seed=4))
    assert same(one, again)
    assert not same(one, other)


def test_parameters_that_a_network_has_are_the_start():
    start = NETWORK.initialise(9)
    before = {key: value.copy() for key, value in start.parameters.items()}
    options = dataclasses.replace(OPTIONS, epochs=1, learning_rate=1e-9)
    trained = train(start, IMAGES, LABELS, options)
    for key, value in before.items():
        np.testing.assert_array_equal(start.parameters[key], value)
        np.testing.assert_allclose(trained.parameters[key], value, atol=1e-6)
    assert not same(trained, start)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_resumed_run_ends_with_the_bits_of_one_that_never_stopped(tmp_path, optimiser, epoch):
    path = tmp_path / "run.checkpoint"
    options = dataclasses.replace(OPTIONS, optimizer=optimiser)
    whole = train(NETWORK, IMAGES, LABELS, options)
    with pytest.raises(Stopped):
        train(NETWORK, IMAGES, LABELS, options, checkpoint=path, progress=stop_after(epoch))
    reports: list[Progress] = []
    resumed = train(NETWORK, IMAGES, LABELS, dataclasses.replace(options, threads=1),
                    checkpoint=path, resume=True, progress=reports.append)  # fmt: skip
    assert reports[0].epoch == epoch + 1
    assert same(whole, resumed)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_goes_on_to_more_epochs(tmp_path, stopped):
    path, options = tmp_path / "run.checkpoint", dataclasses.replace(OPTIONS, schedule="constant")
    whole, short = train(NETWORK, IMAGES, LABELS, options), dataclasses.replace(options, epochs=2)
    with pytest.raises(Stopped) if stopped else contextlib.nullcontext():
        stop = stop_after(1) if stopped else None
        train(NETWORK, IMAGES, LABELS, short, checkpoint=path, progress=stop)
    assert same(whole, train(NETWORK, IMAGES, LABELS, options, checkpoint=path, resume=True))
    with pytest.raises(InputError, match=rf"{path}.*2 epochs.*at least 4"):
        train(NETWORK, IMAGES, LABELS, short, checkpoint=path, resume=True)


def test_a_checkpoint_of_an_older_version_is_resumed(tmp_path):
    path = tmp_path / "run.checkpoint"
    whole = train(NETWORK, IMAGES, LABELS, OPTIONS)
    with pytest.raises(Stopped):
        train(NETWORK, IMAGES, LABELS, OPTIONS, checkpoint=path, progress=stop_after(2))
    tensors, metadata = read_tensors(path)
    older = json.loads(metadata["options"])
    older["optimiser"] = older.pop("optimizer")
    del older["dropout"]
    write_tensors(path, tensors, metadata | {"options": json.dumps(older)})
    assert same(whole, train(NETWORK, IMAGES, LABELS, OPTIONS, checkpoint=path, resume=True))


def test_a_finished_run_resumes_to_its_end(tmp_path):
    path = tmp_path / "run.checkpoint"
    whole = train(NETWORK, IMAGES, LABELS, OPTIONS, checkpoint=path)
    assert same(whole, train(NETWORK, IMAGES, LABELS, OPTIONS, checkpoint=path, resume=True))


@pytest.mark.parametrize(
    ("network", "images", "change", "message"),
    [
        (NETWORK, IMAGES, {"seed": 5}, "options"),
        (NETWORK, IMAGES[::-1], {}, "data"),
        (dataclasses.replace(NETWORK, name="other"), IMAGES, {}, "model tiny"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, network, images, change, message):
    path = tmp_path / "run.checkpoint"
    train(NETWORK, IMAGES, LABELS, dataclasses.replace(OPTIONS, epochs=1), checkpoint=path)
    options = dataclasses.replace(OPTIONS, **{"epochs": 1} | change)
    with pytest.raises(InputError, match=rf"{path}.*{message}"):
        train(network, images, LABELS, options, checkpoint=path, resume=True)


def damage(path: Path, fault: str) -> None:
    tensors, metadata = read_tensors(path)
    if fault == "tensor":
        del tensors["optimiser.mean.conv1.weights"]
    elif fault == "shape":
        tensors["parameters.conv1.bias"] = np.zeros(3, np.float32)
    else:
        metadata["state"] = "{}"
    write_tensors(path, tensors, metadata)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("tensor", "mean.conv1.weights.*nothing"), ("shape", "conv1.bias"), ("rng", "metadata")],
)
def test_a_damaged_checkpoint_is_named(tmp_path, fault, message):
    path = tmp_path / "run.checkpoint"
    options = dataclasses.replace(OPTIONS, epochs=1)
    train(NETWORK, IMAGES, LABELS, options, checkpoint=path)
    damage(path, fault)
    with pytest.raises(InputError, match=rf"{path}.*{message}"):
        train(NETWORK, IMAGES, LABELS, options, checkpoint=path, resume=True)


def test_progress_tells_of_every_step_and_of_the_held_out_images():
    options = dataclasses.replace(OPTIONS, epochs=2, holdout=50)
    reports: list[Progress] = []
    trained = train(NETWORK, IMAGES, LABELS, options, progress=reports.append)
    assert [(r.epoch, r.step) for r in reports] == [(e, s) for e in (1, 2) for s in (1, 2, 3, 4)]
    assert {(r.epochs, r.steps) for r in reports} == {(2, 4)}
    assert [r.learning_rate for r in reports] == [options.rate(i / 8) for i in range(8)]
    right = predict(trained, IMAGES[100:]) == LABELS[100:]
    assert [r.holdout_accuracy for r in reports[:3]] == [None] * 3
    assert reports[-1].holdout_accuracy == right.mean()


def test_held_out_images_do_not_touch_the_training():
    options = dataclasses.replace(OPTIONS, epochs=1)
    without = train(NETWORK, IMAGES[:100], LABELS[:100], options)
    held = dataclasses.replace(options, holdout=50)
    assert same(without, train(NETWORK, IMAGES, LABELS, held))


def test_predictions_are_those_of_the_reference():
    network, x = NETWORK.initialise(2), prepare(SAMPLE.images[:300], 14)
    for name, problem in network.problems(300):
        x = problem.reference(x.reshape(problem.input_shape), *network.parameters_of(name))
    np.testing.assert_array_equal(predict(network, SAMPLE.images[:300]), x.argmax(axis=1))


@pytest.mark.parametrize(
    ("images", "labels", "change", "message"),
    [
        (IMAGES.astype(np.float32), LABELS, {}, "data: got float32"),
        (IMAGES[:, 0], LABELS, {}, "data: got uint8"),
        (IMAGES[:0], LABELS[:0], {}, "data: got uint8"),
        (IMAGES, LABELS[:-1], {}, r"targets: got uint8\[149\]"),
        (IMAGES, LABELS.astype(np.float32), {}, r"targets: got float32\[150\]"),
        (IMAGES, LABELS + np.uint8(1), {}, "a label of 10; expected labels below 10"),
        (IMAGES, LABELS.astype(np.int64) - 1, {}, "a label of -1"),
        (WITH_NAN, LABELS, {}, "data: got nan in item 140; expected finite"),
        (IMAGES, LABELS, {"holdout": 150}, "holdout"),
        (IMAGES, LABELS, {"learning_rate": 1e30}, "learning_rate.*loss is"),
    ],
)
def test_input_that_does_not_fit_is_refused(images, labels, change, message):
    with pytest.raises(InputError, match=message):
        train(NETWORK, images, labels, dataclasses.replace(OPTIONS, **change))


def test_a_last_step_that_overflows_is_an_error_and_no_checkpoint(tmp_path):
    """No loss follows the last step, which would tell."""
    options = dataclasses.replace(OPTIONS, epochs=1, batch=None, optimizer="sgd", holdout=20)
    options = dataclasses.replace(options, learning_rate=3e38)
    images, path = 1e3 * NETWORK.prepare(IMAGES), tmp_path / "run"
    with pytest.raises(InputError, match=r"learning_rate: got 3e\+38; .* not finite after epoch 1"):
        train(NETWORK, images, LABELS, options, checkpoint=path)
    assert not path.exists()


def test_resume_without_its_checkpoint_is_refused(tmp_path):
    with pytest.raises(InputError, match="resume"):
        train(NETWORK, IMAGES, LABELS, OPTIONS, resume=True)
    with pytest.raises(InputError, match="no such file"):
        train(NETWORK, IMAGES, LABELS, OPTIONS, checkpoint=tmp_path / "none", resume=True)


def test_networks_of_other_inputs_are_refused():
    network = dataclasses.replace(NETWORK, input_shape=(3, 14, 14)).initialise(0)
    with pytest.raises(InputError, match=r"expected uint8\[n, 3, height, width\]"):
        predict(network, IMAGES)
    with pytest.raises(InputError, match="without parameters"):
        predict(NETWORK, IMAGES)
    with pytest.raises(InputError, match="threads: got 0"):
        predict(NETWORK, IMAGES, threads=0)


def test_a_record_holds_the_accuracies_and_the_options():
    network = NETWORK.initialise(0)
    test = ImageSet(SAMPLE.images, SAMPLE.labels, "sample")
    recorded = with_record(network, "rooftile train tiny", OPTIONS, "a sample", test)
    right = predict(network, test.images) == test.labels
    assert recorded.metadata["accuracy_100"] == f"{right[:100].mean():.4f}"
    assert recorded.metadata["accuracy_1000"] == f"{right.mean():.4f}"
    assert "accuracy_10000" not in recorded.metadata
    assert recorded.metadata["command"] == "rooftile train tiny"
    assert (recorded.metadata["seed"], recorded.metadata["epochs"]) == ("3", "4")
    assert same(recorded, network)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_colour_of_any_size_with_labels_of_64_bits(library, kind):
    layers = (ConvLayer("first", 2, 3, pool=("max", 2)), LinearLayer("last", 2))
    network = Network("colour", (3, 6, 8), layers, pixels=Pixels((0.5,), (0.25,)))
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 40)
    images = generator.integers(0, 100, (40, 3, 9, 10), np.uint8)
    images[labels == 1, 0] += 120
    x = network.prepare(images) if kind == "float32" else images
    given = [x, labels]
    if library == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        given = [torch.from_numpy(array) for array in given]
    trained = train(network, *given, TrainingOptions(epochs=8, batch=8, learning_rate=1e-2))
    assert (predict(trained, given[0]) == labels).mean() > 0.9
    assert (trained.predict(network.prepare(images)) == labels).mean() > 0.9
