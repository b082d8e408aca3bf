"""Losses, activations behind layers, dropout and loss scaling on a device, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn import LinearLayer, Network
from rooftile.nn.training import TrainingOptions
from rooftile.nn.training.gpu.behind import DropoutStage
from rooftile.nn.training.gpu.epochs import rates_of
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import TrainingStep
from rooftile.nn.training.model import Model
from rooftile.ops.layers.dropout import Dropout

ROWS = np.random.default_rng(4).standard_normal((9, 6)).astype(np.float32)
LABELS = np.random.default_rng(5).integers(0, 3, 9)
CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def network(last, outputs=3, hidden=("softmax", "softplus", "gelu")):
    layers = [LinearLayer(f"h{n}", 5, name) for n, name in enumerate(hidden)]
    return Network([*layers, LinearLayer("o", outputs, last)], 6).initialise(2)


def step_of(device, net, targets, *, precision="ieee", rows=ROWS, **given):
    """A step over all rows, ready to start, and what it works on."""
    options = TrainingOptions(epochs=4, batch=9, optimizer="sgd", shift=0, **given)
    held = Resident(net, rows, targets, options, device, precision)
    # OpenCL rounds nothing; the loss may be scaled there all the same.
    held.precision = "ieee"
    held.load("parameters", net.parameters)
    held.begin_epoch(np.arange(9), np.zeros(9, np.int32), rates_of(options, 1, 1), 0)
    return held, TrainingStep(net, held, 9)


def fetched(held, net, name):
    found = {key: np.empty_like(value) for key, value in net.parameters.items()}
    held.fetch(name, found)
    return found


@pytest.mark.parametrize(
    ("loss", "last", "outputs"),
    [
        ("cross_entropy", "softmax", 3),
        ("cross_entropy", "sigmoid", 1),
        ("squared_error", "tanh", 3),
        ("half_squared_error", "sigmoid", 1),
        ("half_squared_error", "none", "numbers"),
        ("missed", "softmax", 3),
        ("squared_distance", "sigmoid", 3),
        ("squared_error", "gelu", 3),
    ],
)
def test_losses_and_activations_are_those_of_the_cpu(loss, last, outputs, device):
    net = network(last, 3 if outputs == "numbers" else outputs)
    targets = LABELS % 2 if outputs == 1 else LABELS
    if outputs == "numbers":
        targets = np.random.default_rng(6).standard_normal((9, 3)).astype(np.float32)
    held, step = step_of(device, net, targets, loss=loss)
    step()
    expected, gradients = Model(net, 1, loss).loss_and_gradients(net.parameters, ROWS, targets)
    found = held.send_losses(1).read(0, 1)
    np.testing.assert_allclose(found, [expected], rtol=1e-6)
    for key, found in fetched(held, net, "gradients").items():
        np.testing.assert_allclose(found, gradients[key], **CLOSE, err_msg=key)


def dropped(device, values, step, share=0.3, seed=7):
    """What a dropout makes of values going forward, and of ones going backward."""
    work, up = BoundLaunches(device), device.upload
    rates = up(np.zeros((4, 4), np.float32))
    problem = Dropout(values.size, share, seed, 0, 4)
    stage = DropoutStage(work, problem, up(values), rates, up(np.full(1, step, np.int32)))
    back = up(np.zeros_like(values))
    stage.forward()
    stage.backward(up(np.ones_like(values)), (), back, "none")
    work.start()
    found = np.empty_like(values), np.empty_like(values)
    for memory, array in zip((stage.y, back), found, strict=True):
        device.copy_out(memory, array)
    return found


def test_dropout_drops_the_same_in_both_directions(device):
    values = np.random.default_rng(1).standard_normal(4099).astype(np.float32)
    forward, backward = dropped(device, values, 0)
    factor = np.float32(1 / 0.7)
    kept = backward != 0
    np.testing.assert_array_equal(backward[kept], factor)
    np.testing.assert_array_equal(forward, np.where(kept, values * factor, 0))
    # Five deviations of a share of so many.
    assert abs(kept.mean() - 0.7) < 5 * (0.21 / 4099) ** 0.5
    assert (dropped(device, values, 0)[0] == forward).all()
    assert (dropped(device, values, 1)[1] != backward).any()
    assert (dropped(device, values, 0, seed=8)[1] != backward).any()


def test_a_scaled_loss_changes_no_bit_and_an_overflow_changes_nothing(device):
    net, large = network("none", hidden=("relu",)), 1000 * ROWS
    plain, step = step_of(device, net, LABELS, rows=large)
    step()
    held, scaled = step_of(device, net, LABELS, precision="fp16", rows=large)
    scaled()
    once = fetched(held, net, "parameters")
    for key, value in fetched(plain, net, "parameters").items():
        np.testing.assert_array_equal(once[key], value)
    scaling = np.empty(2, np.float32)
    device.copy_out(held.scaling, scaling)
    assert scaling.tolist() == [65536, 1]
    for before, after in (([3e38, 5], [1.5e38, 0]), ([1024, 1999], [2048, 0])):
        held.load("parameters", net.parameters)
        device.copy_in(np.array(before, np.float32), held.scaling)
        device.copy_in(np.zeros(1, np.int32), held.step)
        scaled()
        device.copy_out(held.scaling, scaling)
        np.testing.assert_array_equal(scaling, np.float32(after))
        same = [(f == net.parameters[k]).all() for k, f in fetched(held, net, "parameters").items()]
        assert all(same) == (before[0] > 1e38)


def test_dropout_of_a_step_follows_the_seed(device):
    net = network("none", hidden=("relu",))
    made = []
    for seed in (1, 1, 2):
        held, step = step_of(device, net, LABELS, dropout=0.5, seed=seed)
        step()
        made.append(fetched(held, net, "gradients"))
    first, again, other = made
    assert all((first[key] == again[key]).all() for key in first)
    assert any((first[key] != other[key]).any() for key in first)
