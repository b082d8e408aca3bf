"""A network's end with its loss in one launch, against the layers of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn import LinearLayer, Network
from rooftile.nn.training import TrainingOptions
from rooftile.nn.training.gpu.epochs import rates_of
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import TrainingStep
from rooftile.nn.training.model import Model

ITEMS = "linear_cross_entropy items"
WEIGHTS = "linear_weights_gradient quarters"
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
    assert ITEMS in step_of((7, inputs, outputs), (activation,), 9, device)


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
def test_it_is_two_layers(sizes, activations, images, device):
    names = step_of(sizes, activations, images, device)
    assert "linear_cross_entropy two_layers" in names
    assert any(name.startswith("linear_weights_gradient") for name in names)
    assert ITEMS not in names


def test_layers_of_many_products_are_operations_of_their_own(device):
    names = step_of((7, 1030, 40), ("relu",), 300, device)
    assert WEIGHTS not in names
    assert "softmax_cross_entropy block_rows" in names


def test_many_images_are_cut_into_parts(device):
    assert WEIGHTS in step_of((7, 40, 33, 10), ("relu", "relu"), 150, device)
    assert WEIGHTS in step_of((7, 70, 10), ("relu",), 150, device)
