"""What lies in fewer bits between a step's launches changes no bit of its gradients."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.nn import Network, Pixels, architecture
from rooftile.nn.data import FASHION
from rooftile.nn.layers import ConvLayer, LinearLayer
from rooftile.nn.training.gpu import layers, linear_layer, narrow, step
from rooftile.nn.training.gpu.batches import Batches
from rooftile.nn.training.gpu.epochs import rates_of
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import TrainingStep
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import FORMATS, Conv2d, Pool
from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups.warpgroups import Warpgroups
from rooftile.strategies.conv2d_weights_gradient.gpu.turned.turned import Turned


def gradients_of(network, count, precision, device):
    """Those of one step on random images."""
    generator = np.random.default_rng(4)
    images = generator.integers(0, 256, (count, 28, 28), np.uint8)
    labels = generator.integers(0, 10, count)
    options = TrainingOptions(batch=count, optimizer="sgd", shift=0, precision=precision)
    held = Resident(network, images, labels, options, device, precision)
    held.load("parameters", network.parameters)
    held.begin_epoch(np.arange(count), np.zeros(count, np.int32), rates_of(options, 0, 1), 0)
    TrainingStep(network, held, count)()
    found = {key: np.zeros(s, np.float32) for key, s in network.parameter_shapes.items()}
    held.fetch("gradients", found)
    return found


@pytest.fixture
def alike(monkeypatch):
    """The same rungs and the same blocks whatever lies in fewer bits: one rung takes gradients only
    where 8 bits say what relu cut, and adds them up in an order of its own; of another there is
    room for more blocks beside each other, and so for other sums of blocks."""
    monkeypatch.setattr(Warpgroups, "margin", 1e9)
    monkeypatch.setattr(Turned, "wishes", ())


@pytest.fixture
def asked(monkeypatch):
    """Formats of the network's input, as steps settle them."""
    formats, settle = [], narrow.narrow_between

    def noted(*given):
        formats.append(settle(*given))
        return formats[-1]

    monkeypatch.setattr(step, "narrow_between", noted)
    return formats


@pytest.mark.gpu
@pytest.mark.usefixtures("alike")
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_activations_of_16_bits_change_no_bit(precision, cuda_device, asked, monkeypatch):
    network = architecture("lenet5").initialise(0)
    found = gradients_of(network, 256, precision, cuda_device)
    assert asked == [precision]
    monkeypatch.setattr(step, "narrow_between", lambda row, images: "")
    for key, right in gradients_of(network, 256, precision, cuda_device).items():
        np.testing.assert_array_equal(found[key], right, err_msg=key)


@pytest.mark.gpu
@pytest.mark.parametrize("count", [256, 1100, 5000])
def test_images_lie_in_float16_at_tf32(count, cuda_device, asked, monkeypatch):
    network = architecture("lenet5").initialise(0)
    found = gradients_of(network, count, "tf32", cuda_device)
    assert asked == ["fp16"]
    monkeypatch.setattr(Batches, "may_lie", lambda held, precision: "")
    for key, right in gradients_of(network, count, "tf32", cuda_device).items():
        # Sums have another order, and now and then another element of a window is the largest.
        assert np.linalg.norm(found[key] - right) < 1e-3 * np.linalg.norm(right), key
    assert asked == ["fp16", ""]


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "unit"), [("bf16", 2.0**-8), ("fp16", 2.0**-11)])
@pytest.mark.parametrize("count", [64, 1100])
def test_features_of_a_large_layer_lie_in_16_bits(count, precision, unit, cuda_device, monkeypatch):
    """Its products round them anyway.  The gradients that come back are rounded once, and summed
    with both signs: their roundings may be some units of what is left."""
    network, told = architecture("mnist8").initialise(0), []
    settle = narrow.narrow_features

    def noted(stage, below):
        settle(stage, below)
        told.append((stage.dtype, below.stored))

    monkeypatch.setattr(narrow, "narrow_features", noted)
    found = gradients_of(network, count, precision, cuda_device)
    dtype = FORMATS[precision].dtype
    assert told == [(dtype, {"y": dtype, "dy": dtype})]
    monkeypatch.setattr(narrow, "narrow_features", lambda stage, below: None)
    for key, right in gradients_of(network, count, precision, cuda_device).items():
        assert np.linalg.norm(found[key] - right) <= 4 * unit * np.linalg.norm(right), key


@pytest.mark.parametrize(
    ("pixels", "precision", "format"),
    [
        (FASHION, "tf32", "fp16"),
        (Pixels(), "tf32", "fp16"),
        (Pixels((0.5,), (2.0**-17,)), "tf32", ""),
        (Pixels((0.5,), (4.0,)), "tf32", ""),
        (FASHION, "ieee", ""),
        (Pixels((0.5,), (4.0,)), "bf16", "bf16"),
    ],
)
def test_images_may_lie_where_they_fit(pixels, precision, format, device):
    """Neither beyond float16's largest numbers, nor so small that it lacks their bits."""
    network = dataclasses.replace(winners(LAST), pixels=pixels)
    images, options = np.zeros((7, 28, 28), np.uint8), TrainingOptions(batch=7)
    held = Resident(network, images, np.zeros(7, np.int64), options, device)
    assert held.batches.may_lie(precision) == format


def test_numbers_of_any_size_may_not(device):
    x, options = np.zeros((7, 1, 28, 28), np.float32), TrainingOptions(batch=7, shift=0)
    held = Resident(winners(LAST), x, np.zeros(7, np.int64), options, device)
    assert held.batches.may_lie("tf32") == ""


def winners(*ends, activation="relu"):
    """Windows with several rows and columns, with ghost cells, of which many have no winner."""
    network = Network(
        "winners",
        (1, 28, 28),
        (
            ConvLayer("conv1", 2, 3, padding=1, activation=activation, pool=Pool.of("max", 2)),
            ConvLayer("conv2", 5, 3, activation=activation, pool=Pool.of("max", (4, 2))),
            *ends,
        ),
        pixels=FASHION,
    ).initialise(0)
    for name in ("conv1", "conv2"):
        network.parameters[f"{name}.bias"][...] = -0.2
    return network


LAST = LinearLayer("last", 10)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("count", [3, 140])
def test_winners_told_in_8_bits_change_no_bit(count, activation, device, monkeypatch):
    """Of few images and many."""
    network = winners(LAST, activation=activation)
    told = assert_told_alike(network, count, "ieee", device, monkeypatch)
    # Of very few images a byte may not pay for the first layer.
    assert told[1] == {"argmax": "uint8"}
    assert told[0] == told[1] or count == 3


@pytest.mark.parametrize("few", [0, 2**23])
def test_nor_do_they_below_linear_layers(few, device, monkeypatch):
    """That are products of matrices, or one launch."""
    monkeypatch.setattr(linear_layer, "FEW", few)
    monkeypatch.setattr(BoundLaunches, "pays", lambda work, problem: False)
    told = assert_told_alike(
        winners(LinearLayer("linear", 12), LAST), 7, "ieee", device, monkeypatch
    )
    assert told == [{"argmax": "uint8"}] * 2


@pytest.mark.parametrize(("activation", "times"), [("relu", 0), ("tanh", 1)])
def test_no_launch_takes_the_derivative_that_places_tell(activation, times, device, monkeypatch):
    """Behind a linear layer, or by reading a convolution's input."""
    monkeypatch.setattr(linear_layer, "FEW", 0)
    monkeypatch.setattr(BoundLaunches, "pays", lambda work, problem: False)
    network = winners(LinearLayer("linear", 12), LAST, activation=activation)
    options = TrainingOptions(batch=7, optimizer="sgd", shift=0)
    images = np.zeros((7, 28, 28), np.uint8)
    held = Resident(network, images, np.zeros(7, np.int64), options, device)
    starts = [(one.name.split()[0], one.bytes) for one in TrainingStep(network, held, 7).starts]
    assert [name for name, _ in starts].count("activation_gradient") == times
    pixels, places, weights = 7 * 2 * 14 * 14, 7 * 5 * 3 * 6, 5 * 2 * 9
    expected = 4 * ((1 + times) * pixels + places + weights) + places
    assert dict(starts)["conv2d_input_gradient"] == expected


@pytest.mark.parametrize(("window", "told"), [((3, 85), {"argmax": "uint8"}), ((2, 128), {})])
def test_8_bits_tell_255_positions_apart(window, told, device, monkeypatch):
    """One more byte says that there is no winner."""
    monkeypatch.setattr(BoundLaunches, "stores", lambda *asked: True)
    problem = Conv2d(1, 1, 5, 130, 1, (1, 1), activation="relu", pool=Pool.of("max", window))
    one = layers.WinnersStage(BoundLaunches(device, "ieee"), problem, None, ())
    narrow.narrow_between([one])
    assert one.stored == told
    assert one.before == ("none" if told else "relu")


def test_a_launch_tells_the_bytes_of_arrays_as_they_lie(device):
    conv = ConvLayer("conv", 2, 3, activation="relu", pool=Pool.of("max", 2))
    layers = conv, LinearLayer("last", 10)
    network = Network("small", (1, 12, 12), layers, pixels=FASHION).initialise(0)
    options = TrainingOptions(batch=7, optimizer="sgd", shift=0)
    images, labels = np.zeros((7, 12, 12), np.uint8), np.zeros(7, np.int64)
    held = Resident(network, images, labels, options, device)
    moved = {one.name.split()[0]: one.bytes for one in TrainingStep(network, held, 7).starts}
    x, winners, parameters = 7 * 12 * 12, 7 * 2 * 5 * 5, 2 * 9 + 2
    # A place is a byte.
    assert moved["conv2d"] == 4 * (x + winners + parameters) + winners
    assert moved["conv2d_weights_gradient"] == 4 * (x + winners + parameters) + winners
    assert moved["gather_batch"] >= 4 * x


@pytest.mark.gpu
@pytest.mark.usefixtures("alike")
@pytest.mark.parametrize("precision", ["ieee", "tf32", "bf16", "fp16"])
@pytest.mark.parametrize("count", [64, 256, 1100])
def test_so_do_those_of_tensor_cores(count, precision, cuda_device, monkeypatch):
    network = architecture("lenet5").initialise(0)
    _, second = assert_told_alike(network, count, precision, cuda_device, monkeypatch)
    assert second == {"argmax": "uint8"}


def assert_told_alike(network, count, precision, device, monkeypatch):
    """How layers' places are stored. Gradients have the bits that the same rungs give with places
    of 32 bits."""
    told, tell, picked, pick = [], narrow.tell_places, {}, BoundLaunches.chosen

    def noted(stage, before):
        tell(stage, before)
        told.append(stage.stored.copy())

    def shapes(problem):
        return problem.operation, *((array.name, array.shape) for array in problem.arrays)

    def chosen(work, problem):
        return picked.setdefault(shapes(problem), pick(work, problem))

    def again(work, problem):
        rung, config = picked.get(shapes(problem), (None, {}))
        taken = rung is not None and rung.why_not(problem) is None
        return (rung, config) if taken else pick(work, problem)

    monkeypatch.setattr(narrow, "tell_places", noted)
    monkeypatch.setattr(BoundLaunches, "chosen", chosen)
    found = gradients_of(network, count, precision, device)
    monkeypatch.setattr(narrow, "tell_places", lambda stage, before: None)
    monkeypatch.setattr(BoundLaunches, "chosen", again)
    for key, right in gradients_of(network, count, precision, device).items():
        np.testing.assert_array_equal(found[key], right, err_msg=key)
    return told
