"""Epochs on a device that follow each other without a pause."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn import LinearLayer, Network
from rooftile.nn.tensors import read_tensors
from rooftile.nn.training import train
from rooftile.nn.training.gpu import epochs
from rooftile.nn.training.gpu.epochs import DeviceSteps, Given, rates_of
from rooftile.nn.training.optimisers import optimiser
from rooftile.nn.training.options import TrainingOptions

NETWORK = Network([LinearLayer("hidden", 6, "relu"), LinearLayer("classes", 3)], 5).initialise(0)
GENERATOR = np.random.default_rng(2)
ROWS = GENERATOR.standard_normal((21, 5), dtype=np.float32)
LABELS = np.arange(21) % 3
OPTIONS = TrainingOptions(epochs=2, batch=4, learning_rate=1e-2)


@pytest.fixture
def begun(device, monkeypatch):
    """Steps on a device, its state's arrays, and what each epoch is told."""
    monkeypatch.setattr(epochs, "PATIENCE_S", np.inf)
    made = DeviceSteps(NETWORK, ROWS, LABELS, OPTIONS, device.description.device)
    parameters = {key: value.copy() for key, value in NETWORK.parameters.items()}
    memory = optimiser(OPTIONS, parameters).state
    made.load(parameters, memory)
    order = np.random.default_rng(3)
    still = np.zeros(21, np.int32)
    told = [Given(order.permutation(21), still, rates_of(OPTIONS, epoch, 6)) for epoch in (0, 1)]
    return made, parameters, memory, told


def fetched(made, parameters, memory, remembered=False):
    made.fetch(parameters, memory, remembered)
    return {key: value.copy() for key, value in {**parameters, **memory}.items()}


def equal(one, other):
    return all((one[key] == other[key]).all() for key in one)


def test_the_next_epoch_is_begun_before_the_last_losses_are_told(begun, monkeypatch):
    made, *_, (first, second) = begun
    log, begin = [], made.held.begin_epoch
    monkeypatch.setattr(made.held, "begin_epoch", lambda *a: log.append("begin") or begin(*a))
    for losses in made.losses(first, 0, None, lambda: second):
        log += ["loss"] * len(losses)
    # Steps are started by 1, 1, 2 and 2.
    assert log == ["begin", *["loss"] * 4, "begin", *["loss"] * 2]


def test_an_epochs_end_is_remembered_while_the_device_goes_on(begun, device):
    made, parameters, memory, (first, second) = begun
    losses = [loss for some in made.losses(first, 0, None, lambda: second) for loss in some]
    made.remember()
    end = fetched(made, parameters, memory, remembered=True)
    assert not equal(fetched(made, parameters, memory), end)
    losses += [loss for some in made.losses(second, 0) for loss in some]
    made.remember()
    last = fetched(made, parameters, memory, remembered=True)
    assert equal(fetched(made, parameters, memory), last)

    parameters = {key: value.copy() for key, value in NETWORK.parameters.items()}
    memory = optimiser(OPTIONS, parameters).state
    alone = DeviceSteps(NETWORK, ROWS, LABELS, OPTIONS, device.description.device)
    alone.load(parameters, memory)
    found = [loss for some in alone.losses(first, 0) for loss in some]
    assert equal(fetched(alone, parameters, memory), end)
    found += [loss for some in alone.losses(second, 0) for loss in some]
    assert equal(fetched(alone, parameters, memory), last)
    assert losses == found


@pytest.mark.parametrize("step", [1, 5, 6])
def test_a_loss_that_is_not_finite_goes_back_to_the_end_of_the_epoch_before(
    step, device, tmp_path, monkeypatch
):
    """Also where it is one of an epoch's last, which are told behind the next epoch's first."""
    kept, place, sent = tmp_path / "c", device.description.device, []
    right = train(
        NETWORK, ROWS, LABELS, OPTIONS, device=place, checkpoint=tmp_path / "right",
        progress=lambda report: sent.append(report),
    )  # fmt: skip
    untouched = DeviceSteps.losses

    def broken(self, given, first, *others):
        number = first
        for some in untouched(self, given, first, *others):
            told = range(number + 1, number + 1 + len(some))
            number = told[-1]
            bad = given.rates[0, 3] == 1
            yield [
                np.nan if bad and n == step else loss for n, loss in zip(told, some, strict=True)
            ]

    monkeypatch.setattr(DeviceSteps, "losses", broken)
    with pytest.raises(InputError, match=f"the loss is nan in step {step} of epoch 2"):
        train(NETWORK, ROWS, LABELS, OPTIONS, device=place, checkpoint=kept)
    tensors, metadata = read_tensors(kept)
    assert '"epoch": 1, "step": 0' in metadata["state"]
    assert tensors["optimiser.steps"] == 6
    monkeypatch.undo()
    again = train(NETWORK, ROWS, LABELS, OPTIONS, device=place, checkpoint=kept, resume=True)
    assert equal(again.parameters, right.parameters)
    assert len(sent) == 12
