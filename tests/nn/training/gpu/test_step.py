"""A step on a device against the CPU's: losses, gradients, parameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.nn import Network
from rooftile.nn.data import FASHION, ImageSet
from rooftile.nn.layers import ConvLayer, LinearLayer
from rooftile.nn.tensors import read_tensors
from rooftile.nn.training import outputs, train, with_record
from rooftile.nn.training.gpu import epochs, linear_layer
from rooftile.nn.training.gpu.epochs import DeviceSteps, Given, rates_of, variation_of
from rooftile.nn.training.gpu.forward import Outputs
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import TrainingStep
from rooftile.nn.training.model import Model
from rooftile.nn.training.optimisers import LOSS_SCALE, optimiser
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import Pool

pytestmark = pytest.mark.filterwarnings("ignore::rooftile.TrainingWarning")
"""Nothing is to be learnt from random labels, and a training says so."""

NETWORK = Network(
    "small",
    (1, 20, 20),
    (
        ConvLayer("conv1", 3, 3, activation="relu", pool=Pool.of("max", 2)),
        ConvLayer("conv2", 4, 3, padding=1, activation="tanh", pool=Pool.of("average", 3)),
        LinearLayer("linear1", 12, activation="sigmoid"),
        LinearLayer("linear2", 10),
    ),
    pixels=FASHION,
).initialise(0)
ONE_LAYER = Network([LinearLayer("only", 10)], 5)
GENERATOR = np.random.default_rng(1)
IMAGES = GENERATOR.integers(0, 256, (21, 14, 14), np.uint8)
LABELS = GENERATOR.integers(0, 10, 21)
# Gradients are sums over some hundred terms, through four layers.
CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def of_the_cpu(options, steps):
    """Losses, the last gradients, parameters and memory after some steps over all images."""
    parameters = {key: value.copy() for key, value in NETWORK.parameters.items()}
    rule, model, losses = optimiser(options, parameters), Model(NETWORK, 1), []
    x = NETWORK.prepare(IMAGES)
    for number in range(steps):
        loss, gradients = model.loss_and_gradients(parameters, x, LABELS)
        rule.step(parameters, gradients, options.rate(number / steps))
        losses.append(loss)
    return losses, gradients, parameters, rule.state


def of_a_device(device, options, steps):
    """The same, of one epoch for each step."""
    made = DeviceSteps(NETWORK, IMAGES, LABELS, options, device.description.device)
    parameters = {key: value.copy() for key, value in NETWORK.parameters.items()}
    memory = optimiser(options, parameters).state
    made.load(parameters, memory)
    order, still = np.arange(21), np.zeros(21, np.int32)
    losses = [
        next(made.losses(Given(order, still, rates_of(options, epoch, 1)), 0))[0]
        for epoch in range(steps)
    ]
    gradients = {key: np.empty_like(value) for key, value in parameters.items()}
    made.held.fetch("gradients", gradients)
    made.fetch(parameters, memory)
    return losses, gradients, parameters, memory


@pytest.mark.parametrize("rule", ["sgd", "adam"])
def test_steps_are_those_of_the_cpu(rule, device):
    options = TrainingOptions(
        epochs=3, batch=21, optimizer=rule, learning_rate=1e-3, weight_decay=0.1, shift=0
    )
    found = of_a_device(device, options, 3)
    expected = of_the_cpu(options, 3)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    for made, right in zip(found[1:], expected[1:], strict=True):
        for key in made:
            if key != "steps":
                np.testing.assert_allclose(made[key], right[key], **CLOSE, err_msg=key)
    again = of_a_device(device, options, 3)
    assert all((found[2][key] == again[2][key]).all() for key in found[2])


@pytest.mark.parametrize("limit", ["FEW", "_MANY_WEIGHTS"])
def test_large_layers_are_matrix_products(device, monkeypatch, limit):
    monkeypatch.setattr(linear_layer, limit, 0)
    options = TrainingOptions(epochs=1, batch=21, optimizer="sgd", shift=0)
    losses, gradients, *_ = of_a_device(device, options, 1)
    expected, right_ones, *_ = of_the_cpu(options, 1)
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    for key, right in right_ones.items():
        np.testing.assert_allclose(gradients[key], right, **CLOSE, err_msg=key)


@pytest.mark.parametrize("size", [(20, 20), (17, 21), (9, 600), (14, 14), (3, 14)])
def test_batches_are_resized_as_on_the_cpu(size, device):
    """Two columns a thread or one, more columns than threads, and images of the size they have."""
    network = Network("any", (1, *size), (LinearLayer("only", 10),), pixels=FASHION)
    held = Resident(
        network.initialise(0), IMAGES, LABELS, TrainingOptions(batch=21, shift=0), device
    )
    still = np.zeros(21, np.int32)
    held.begin_epoch(np.arange(21), still, np.zeros((1, 4), np.float32), 0)
    x = np.full((21, 1, *size), np.nan, np.float32)
    to = device.upload(x), device.upload(LABELS.astype(np.int32))
    work = BoundLaunches(device)
    held.batches.gather(work, *to, 21, held.step)
    work.start()
    device.copy_out(to[0], x)
    np.testing.assert_allclose(x, network.prepare(IMAGES), rtol=0, atol=5e-7 * 255 * 2)


@pytest.mark.parametrize(("dtype", "flip"), [("uint8", True), ("float32", True), ("uint8", False)])
def test_batches_are_gathered_and_varied_as_on_the_cpu(dtype, flip, device):
    from rooftile.nn.training.augment import augment

    options = TrainingOptions(batch=5, flip=flip, shift=3)
    images = IMAGES if dtype == "uint8" else NETWORK.prepare(IMAGES)
    held = Resident(NETWORK, images, LABELS, options, device)
    order = np.random.default_rng(2).permutation(21)
    generator = np.random.default_rng(3)
    variation = variation_of(options, (5, 5, 5, 5, 1), generator)
    held.begin_epoch(order, variation, np.zeros((5, 4), np.float32), 2)
    x, labels = np.empty((5, 1, 20, 20), np.float32), np.empty(5, np.int32)
    to = device.upload(x), device.upload(labels)
    work = BoundLaunches(device)
    held.batches.gather(work, *to, 5, held.step)
    work.start()
    for memory, array in zip(to, (x, labels), strict=True):
        device.copy_out(memory, array)
    generator, chosen = np.random.default_rng(3), order[10:15]
    for part in (order[:5], order[5:10], chosen):
        varied = augment(images[part], generator, flip=flip, shift=3)
    expected = NETWORK.prepare(varied) if dtype == "uint8" else varied
    # Two products and three sums of levels up to 255, in another order.
    np.testing.assert_allclose(x, expected, rtol=0, atol=5e-7 * 255 * 2)
    np.testing.assert_array_equal(labels, LABELS[chosen])


def test_a_step_that_is_captured_leaves_no_trace(device):
    options = TrainingOptions(batch=21, optimizer="sgd", shift=0)
    held = Resident(NETWORK, IMAGES, LABELS, options, device)
    held.load("parameters", NETWORK.parameters)
    kept = held.kept()
    step = TrainingStep(NETWORK, held, 21)
    held.begin_epoch(np.arange(21), np.zeros(21, np.int32), rates_of(options, 0, 1), 0)
    step()
    held.put_back(kept)
    back = {key: np.empty_like(value) for key, value in NETWORK.parameters.items()}
    held.fetch("parameters", back)
    assert all((back[key] == value).all() for key, value in NETWORK.parameters.items())
    names = [one.name for one in step.starts]
    assert "gather_batch staged" in names
    assert names[-1] == "optimiser_step fused"


def test_steps_that_are_started_together_leave_the_same_bits(device, monkeypatch):
    options = TrainingOptions(epochs=2, batch=2, learning_rate=1e-3, dropout=0.1, seed=3)
    rows = np.random.default_rng(4).normal(0, 1, (37, 5)).astype(np.float32)
    network, labels = ONE_LAYER.initialise(1), np.arange(37) % 10
    alone, tried = TrainingStep.__call__, TrainingStep._least
    calls = []

    def counted(self):
        calls.append(1)
        alone(self)

    def last_is_least(self, ways):
        return [-float(number) for number, _ in enumerate(tried(self, ways))]

    def trained():
        calls.clear()
        reports = []
        made = train(
            network,
            rows,
            labels,
            options,
            device=device.description.device,
            progress=lambda report: reports.append(report.loss),
        )
        return reports, [value.tobytes() for value in made.parameters.values()], len(calls)

    monkeypatch.setattr(epochs, "PATIENCE_S", np.inf)
    monkeypatch.setattr(TrainingStep, "__call__", counted)
    monkeypatch.setattr(TrainingStep, "_least", last_is_least)
    together = trained()
    monkeypatch.setattr(TrainingStep, "several", None)
    one_by_one = trained()
    assert together[:2] == one_by_one[:2]
    # The first epoch's steps are started by 1, 2, 4, 8 and 4; the second one's by 16 and 3.
    assert (together[2], one_by_one[2]) == (11 + 3, 2 * 19)


def test_only_the_update_waits_for_the_weights_of_later_layers(device):
    options = TrainingOptions(batch=21, optimizer="sgd", shift=0)
    held = Resident(NETWORK, IMAGES, LABELS, options, device)
    starts = TrainingStep(NETWORK, held, 21).starts
    aside = [(one.layer, one.name.split()[0]) for one in starts if one.aside]
    packed = [("conv1", "conv2d"), ("conv2", "conv2d")]
    later = [
        ("conv2", "conv2d_weights_gradient"),
        ("", "record_mean"),
        ("linear1", "linear_weights_gradient"),
    ]
    assert aside == [*packed, *later]
    # Small launches do not wait for the large ones.
    assert [one.layer for one in starts if one.line == 1] == ["", "linear1"]
    assert [one.name for one in starts if one.joins] == ["optimiser_step fused"]


def test_what_is_aside_may_begin_with_the_next_layer(device, monkeypatch):
    options = TrainingOptions(batch=21, optimizer="sgd", shift=0)
    held = Resident(NETWORK, IMAGES, LABELS, options, device)
    held.load("parameters", NETWORK.parameters)
    rates, started = rates_of(options, 0, 1), []
    held.begin_epoch(np.arange(21), np.zeros(21, np.int32), rates, 0)
    kept, work = held.kept(), TrainingStep(NETWORK, held, 21)._work
    monkeypatch.setattr(work, "_start", lambda one: (started.append(one), one.start()))
    orders, bits = [], []
    for way in ("beside", "later", "in a row"):
        started.clear()
        work.start(way)
        orders.append(started.copy())
        found = {key: np.empty_like(value) for key, value in NETWORK.parameters.items()}
        held.fetch("parameters", found)
        bits.append(b"".join(value.tobytes() for value in found.values()))
        held.put_back(kept)
    assert bits[0] == bits[1] == bits[2]
    beside, late, _ = (
        [(one.layer, one.name.split()[0]) for one in order if one.phase in ("backward", "update")]
        for order in orders
    )
    weights, of_input = ("conv2", "conv2d_weights_gradient"), ("conv2", "conv2d_input_gradient")
    of_first = ("conv1", "conv2d_weights_gradient")
    assert beside.index(weights) < beside.index(of_input)
    assert late.index(of_input) < late.index(weights) < late.index(of_first)
    assert sorted(late) == sorted(beside)


@pytest.mark.parametrize("options", [TrainingOptions(batch=8), TrainingOptions(dropout=0.5)])
def test_outputs_on_a_device_are_those_of_the_cpu(options, device):
    made = Outputs(NETWORK, IMAGES, options, device.description.device)()
    np.testing.assert_allclose(made, outputs(NETWORK, IMAGES), **CLOSE)
    rows = GENERATOR.normal(0, 1, (21, 5)).astype(np.float32)
    network = ONE_LAYER.initialise(1)
    made = Outputs(network, rows, options, device.description.device)()
    np.testing.assert_allclose(made, outputs(network, rows), **CLOSE)


def test_a_record_of_a_device_is_that_of_the_cpu(device):
    given = NETWORK, "rooftile train small", TrainingOptions(batch=8), "some"
    test = ImageSet(IMAGES, LABELS, "some")
    expected = with_record(*given, test).metadata
    assert with_record(*given, test, device.description.device).metadata == expected


def test_what_only_the_cpu_trains_is_refused(device):
    place, options = device.description.device, TrainingOptions(batch=21, shift=0)
    overlapping = Network(
        "o", (1, 9, 9), (ConvLayer("c", 2, 3, pool=("max", 3, 2)), LinearLayer("l", 10))
    ).initialise(0)
    images = np.zeros((21, 9, 9), np.uint8)
    steps = DeviceSteps(overlapping, images, LABELS, options, place)
    given = Given(np.arange(21), np.zeros(21, np.int32), rates_of(options, 0, 1))
    with pytest.raises(UnsupportedProblem, match="share"):
        next(steps.losses(given, 0))
    wide = dataclasses.replace(options, dtype="float64")
    with pytest.raises(UnsupportedProblem, match="float64"):
        DeviceSteps(overlapping, images, LABELS, wide, place)
    rounded = dataclasses.replace(options, precision="bf16")
    if device.description.kind == "cuda":
        DeviceSteps(NETWORK, IMAGES, LABELS, rounded, place)
        return
    with pytest.raises(InputError, match="only tensor cores of device 'cuda'"):
        DeviceSteps(NETWORK, IMAGES, LABELS, rounded, place)


@pytest.mark.parametrize("holdout", [0, 1])
@pytest.mark.parametrize(
    ("rule", "where"), [("sgd", (2, 2)), ("adam", (1, 1)), ("adam", (1, 3)), ("adam", (2, 2))]
)
def test_training_is_that_of_the_cpu_stops_and_goes_on(rule, where, holdout, device, tmp_path):
    """Where nothing is held out, the device is beyond an epoch's end when that is reported."""
    options = TrainingOptions(
        epochs=3, batch=8, optimizer=rule, learning_rate=1e-3, flip=True, holdout=holdout, seed=3
    )
    place = device.description.device

    def trained(**given):
        return train(NETWORK, IMAGES, LABELS, options, device=place, **given).parameters

    expected, found = train(NETWORK, IMAGES, LABELS, options).parameters, trained()
    for key, right in expected.items():
        np.testing.assert_allclose(found[key], right, **CLOSE, err_msg=key)

    def stop(report):
        if (report.epoch, report.step) == where:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(progress=stop, checkpoint=tmp_path / "c")
    again = trained(checkpoint=tmp_path / "c", resume=True)
    assert all((again[key] == value).all() for key, value in found.items())


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_loss_that_is_not_finite_keeps_the_last_epoch(optimiser, device, tmp_path):
    """Here that before the first one: neither weights nor a count of later steps."""
    options = TrainingOptions(epochs=3, batch=8, optimizer=optimiser, learning_rate=1e-3)
    place, kept = device.description.device, tmp_path / "c"
    images = NETWORK.prepare(IMAGES)
    images[2] = 3e38
    with pytest.raises(InputError, match=r"the loss is (nan|inf) in step"):
        train(NETWORK, images, LABELS, options, device=place, checkpoint=kept)
    tensors, _ = read_tensors(kept)
    assert all(np.isfinite(array).all() for array in tensors.values())
    assert tensors.get("optimiser.steps", 0) == 0
    for key, value in NETWORK.parameters.items():
        assert (tensors[f"parameters.{key}"] == value).all()


def test_a_last_step_that_overflows_is_an_error(device, tmp_path):
    options = TrainingOptions(epochs=1, batch=None, optimizer="sgd", learning_rate=3e38)
    place, kept = device.description.device, tmp_path / "c"
    x = GENERATOR.normal(0, 1e3, (21, 5)).astype(np.float32)
    with pytest.raises(InputError, match=r"only\.weights is not finite after epoch 1"):
        train(ONE_LAYER, x, LABELS, options, device=place, checkpoint=kept)
    assert not kept.exists()


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "off"), [("tf32", 0.02), ("bf16", 0.1), ("fp16", 0.02)])
def test_rounded_steps_are_near_and_the_same_in_every_run(precision, off, cuda_device):
    """Of a gradient's norm; which winner is the largest may change with the last bits."""
    options = TrainingOptions(epochs=1, batch=21, optimizer="sgd", shift=0)
    _, right, _, _ = of_the_cpu(options, 1)
    rounded = dataclasses.replace(options, precision=precision)
    found = of_a_device(cuda_device, rounded, 1)
    scale = np.float32(1 if precision != "fp16" else LOSS_SCALE)
    for key, gradient in found[1].items():
        distance = np.linalg.norm(gradient / scale - right[key])
        assert distance < off * np.linalg.norm(right[key]), key
    again = of_a_device(cuda_device, rounded, 1)
    assert all((found[2][key] == again[2][key]).all() for key in found[2])
