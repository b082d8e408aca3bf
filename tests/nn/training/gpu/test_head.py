"""A network's end with its loss in one launch, against the layers of the CPU."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.devices.cuda.compile import compile_cubin, cuda_core
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing
from rooftile.nn import LinearLayer, Network
from rooftile.nn.training import TrainingOptions
from rooftile.nn.training.gpu import head as heads
from rooftile.nn.training.gpu import linear_weights as weights
from rooftile.nn.training.gpu.epochs import rates_of
from rooftile.nn.training.gpu.head import are_small, head, is_small, two_layers
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import TrainingStep
from rooftile.nn.training.model import Model
from rooftile.ops import Linear

CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def step_of(sizes, activations, images, device):
    """The names of a step's launches, with its loss and gradients and those of the CPU."""
    given = zip(sizes[1:], (*activations, "none"), strict=True)
    layers = [LinearLayer(f"l{k}", *one) for k, one in enumerate(given)]
    net = Network(layers, sizes[0]).initialise(3)
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((images, sizes[0])).astype(np.float32)
    labels = generator.integers(0, sizes[-1], images)
    options = TrainingOptions(epochs=1, batch=images, optimizer="sgd", shift=0)
    held = Resident(net, rows, labels, options, device)
    held.load("parameters", net.parameters)
    held.begin_epoch(np.arange(images), np.zeros(images, np.int32), rates_of(options, 0, 1), 0)
    step = TrainingStep(net, held, images)
    step()
    loss, gradients = Model(net, 1).loss_and_gradients(net.parameters, rows, labels)
    np.testing.assert_allclose(held.send_losses(1).read(0, 1), [loss], rtol=1e-6)
    found = {key: np.empty_like(value) for key, value in net.parameters.items()}
    held.fetch("gradients", found)
    for key, value in found.items():
        np.testing.assert_allclose(value, gradients[key], **CLOSE, err_msg=key)
    return [one.name for one in step.starts]


# More outputs than are made at a time, and inputs than threads; few of both.
@pytest.mark.parametrize(("inputs", "outputs", "activation"), [(301, 20, "relu"), (5, 2, "tanh")])
def test_it_is_the_layer_the_loss_and_the_gradients(inputs, outputs, activation, device):
    assert "head" in step_of((7, inputs, outputs), (activation,), 9, device)


# Features that no team divides, in one step and in several; rows that teams do not share evenly; a
# last block with an item; more outputs than a warp has teams.
@pytest.mark.parametrize(
    ("sizes", "activations", "images"),
    [
        ((7, 1044, 32, 10), ("relu", "relu"), 33),
        ((5, 100, 13, 3), ("sigmoid", "tanh"), 9),
        ((3, 2052, 70, 25), ("tanh", "sigmoid"), 5),
        ((3, 4, 1, 2), ("none", "none"), 1),
    ],
)
@pytest.mark.parametrize("most_items", [1, 8])
def test_it_is_two_layers(sizes, activations, images, most_items, device, monkeypatch):
    monkeypatch.setattr(heads, "_MOST_ITEMS", most_items)
    names = step_of(sizes, activations, images, device)
    assert "two_layers" in names
    assert "linear_weights" in names
    assert "head" not in names


def test_many_images_are_cut_into_parts(device, monkeypatch):
    monkeypatch.setattr(weights, "_FEW_IMAGES", 8)
    monkeypatch.setattr(weights, "_FILLED", 1000)
    names = step_of((7, 40, 33, 10), ("relu", "relu"), 150, device)
    assert names.count("finish") == 1
    assert "finish" in step_of((7, 70, 10), ("relu",), 150, device)


@pytest.mark.parametrize(
    ("given", "small"),
    [
        ((64, 32, 10), True),
        ((8192, 32, 10), True),
        ((8192, 512, 10), False),
        ((1, 4096, 10), False),
        ((1, 8, 33), False),
    ],
)
def test_it_is_for_few_inputs_outputs_and_products(given, small):
    assert is_small(Linear(*given)) is small


@pytest.mark.parametrize(
    ("sizes", "small"),
    [
        ((1024, 32, 10), True),
        ((784, 128, 10), True),
        ((1022, 32, 10), False),
        ((6272, 32, 10), False),
        ((1024, 256, 8), False),
    ],
)
def test_two_layers_are_small(sizes, small):
    first, last = (Linear(64, *pair) for pair in itertools.pairwise(sizes))
    assert are_small(first, last) is small


def test_two_layers_of_many_images_are_not():
    assert not are_small(Linear(8192, 1024, 32), Linear(8192, 32, 10))


@pytest.mark.parametrize("scaling", [None, object()])
@pytest.mark.parametrize("images", [64, 300, 8192])
def test_compiles_without_spills(scaling, images):
    try:
        cuda_core()
    except DeviceMissing as missing:
        pytest.skip(str(missing))
    texts = []

    class Compiler:
        description = SimpleNamespace(units=132)

        def compile(self, text, macros, folders):
            texts.append((text, macros, folders))

    head(Compiler(), Linear(images, 512, 10), "relu", True, scaling, *range(7))
    first, last = Linear(images, 1024, 32, "relu"), Linear(images, 32, 10)
    two_layers(Compiler(), first, last, "relu", True, scaling, *range(11))
    for (text, macros, folders), kernel in zip(texts, ("head", "two_layers"), strict=True):
        found = resources(compile_cubin(text, macros, "sm_90", folders))
        assert found[kernel].frame_bytes == 0
