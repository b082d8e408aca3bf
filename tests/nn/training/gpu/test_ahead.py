"""What is compiled before a training's data are there."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn import Network
from rooftile.nn.data import FASHION
from rooftile.nn.layers import ConvLayer, LinearLayer
from rooftile.nn.training.gpu.ahead import compile_ahead, compile_outputs_ahead
from rooftile.nn.training.gpu.epochs import DeviceSteps
from rooftile.nn.training.gpu.forward import Outputs
from rooftile.nn.training.options import TrainingOptions
from rooftile.ops import Pool

NETWORK = Network(
    "small",
    (1, 16, 16),
    (ConvLayer("conv", 2, 3, activation="relu", pool=Pool.of("max", 2)), LinearLayer("linear", 10)),
    pixels=FASHION,
).initialise(0)


@pytest.mark.parametrize(("batch", "count"), [(8, 21), (8, 24), (8, 5), (None, 6)])
def test_it_is_what_the_training_compiles(batch, count, device, monkeypatch):
    compiled, compile_text = set(), device.compile

    def noted(text, macros, folders=()):
        compiled.add((text, tuple(sorted(macros.items()))))
        return compile_text(text, macros, folders)

    monkeypatch.setattr(device, "compile", noted)
    options, name = TrainingOptions(batch=batch), device.description.device
    compile_ahead(NETWORK, options, name, count, (14, 14))
    compile_outputs_ahead(NETWORK, options, name, 10, (14, 14))
    ahead = set(compiled)
    compiled.clear()
    images, labels = np.zeros((count, 14, 14), np.uint8), np.zeros(count, np.int64)
    DeviceSteps(NETWORK, images, labels, options, name).compile()
    Outputs(NETWORK, images[np.arange(10) % count], options, name)()
    assert compiled == ahead
    assert ahead
