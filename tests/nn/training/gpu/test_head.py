"""A last layer with its loss in one launch, against the layers of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices.cuda.compile import compile_cubin, cuda_core
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing
from rooftile.nn import LinearLayer, Network
from rooftile.nn.training import TrainingOptions
from rooftile.nn.training.gpu.epochs import rates_of
from rooftile.nn.training.gpu.head import head, is_small
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import Step
from rooftile.nn.training.model import Model
from rooftile.ops import Linear

CLOSE = {"rtol": 2e-5, "atol": 2e-6}


# More outputs than are made at a time, and inputs than threads; few of both.
@pytest.mark.parametrize(("inputs", "outputs", "activation"), [(301, 20, "relu"), (5, 2, "tanh")])
def test_it_is_the_layer_the_loss_and_the_gradients(inputs, outputs, activation, device):
    layers = [LinearLayer("hidden", inputs, activation), LinearLayer("last", outputs)]
    net = Network(layers, 7).initialise(3)
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((9, 7)).astype(np.float32)
    labels = generator.integers(0, outputs, 9)
    options = TrainingOptions(epochs=1, batch=9, optimiser="sgd", shift=0)
    held = Resident(net, rows, labels, options, device)
    held.load("parameters", net.parameters)
    held.begin_epoch(np.arange(9), np.zeros(9, np.int32), rates_of(options, 0, 1), 0)
    step = Step(net, held, 9)
    assert "head" in [one.name for one in step.starts]
    step()
    loss, gradients = Model(net, 1).loss_and_gradients(net.parameters, rows, labels)
    np.testing.assert_allclose(held.sent_losses(held.send_losses(1), 0, 1), [loss], rtol=1e-6)
    found = {key: np.empty_like(value) for key, value in net.parameters.items()}
    held.fetch("gradients", found)
    for key, value in found.items():
        np.testing.assert_allclose(value, gradients[key], **CLOSE, err_msg=key)


@pytest.mark.parametrize(
    ("given", "small"),
    [((64, 32, 10), True), ((1024, 512, 10), True), ((8192, 512, 10), False), ((1, 8, 33), False)],
)
def test_it_is_for_few_outputs_and_products(given, small):
    assert is_small(Linear(*given)) is small


@pytest.mark.parametrize("scaling", [None, object()])
def test_compiles_without_spills(scaling):
    try:
        cuda_core()
    except DeviceMissing as missing:
        pytest.skip(str(missing))
    texts = []

    class Compiler:
        def compile(self, text, macros, folders):
            texts.append((text, macros, folders))

    head(Compiler(), Linear(64, 512, 10), "relu", scaling, *range(7))
    (text,) = texts
    found = resources(compile_cubin(text[0], text[1], "sm_90", text[2]))
    assert found["head"].frame_bytes == 0
