"""The launches at the end of a training step, emulated on the host: right, without races."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.devices.gpu import macro_lines, prelude
from rooftile.lab.emulation import Finding, run
from rooftile.lab.emulation.program import unwritten
from rooftile.nn.training.gpu import head as heads
from rooftile.nn.training.gpu import linear_weights as weights
from rooftile.ops import Linear
from tests.emulation.emulator import missing

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

# Teams with rows beyond the last, features beyond the last team's, items beyond the last block's.
IMAGES, FEATURES, HIDDEN, OUTPUTS = 5, 132, 13, 3
LAYERS = Linear(IMAGES, FEATURES, HIDDEN, "tanh"), Linear(IMAGES, HIDDEN, OUTPUTS)
GENERATOR = np.random.default_rng(2)


def normal(*shape):
    return GENERATOR.standard_normal(shape).astype(np.float32)


GIVEN = {
    "x": np.maximum(normal(IMAGES, FEATURES), 0),
    "first_weights": normal(HIDDEN, FEATURES) / 8,
    "first_bias": normal(HIDDEN),
    "weights": normal(OUTPUTS, HIDDEN),
    "bias": normal(OUTPUTS),
    "labels": GENERATOR.integers(0, OUTPUTS, IMAGES).astype(np.int32),
}


def expected():
    """What both launches make, in float64."""
    x, w1, b1, w2, b2 = (value.astype(np.float64) for value in list(GIVEN.values())[:5])
    labels, every = GIVEN["labels"], np.arange(IMAGES)
    hidden = np.tanh(x @ w1.T + b1)
    scores = hidden @ w2.T + b2
    powers = np.exp(scores)
    dz = powers / powers.sum(1, keepdims=True)
    loss = -np.log(dz[every, labels])
    dz[every, labels] -= 1
    dz /= IMAGES
    change = dz @ w2 * (1 - hidden**2)
    made = {"given": hidden, "change": change, "dx": change @ w1 * (x > 0), "loss": loss, "dz": dz}
    sums = {"first_dweights": change.T @ x, "first_dbias": change.sum(0)}
    return made, sums | {"dweights": dz.T @ hidden, "dbias": dz.sum(0)}


class Device:
    """What a launch is made for, which keeps it."""

    description = SimpleNamespace(units=2)

    def compile(self, text, macros, folders):
        self.text, self.folders = macro_lines(macros) + prelude() + text, folders


def emulated(call, device, given, made, tmp_path, change=("", ""), sanitizer="thread"):
    """Whether the results of a launch are right."""
    assert change[0] in device.text
    arrays = given | {
        name: unwritten(4 * right.size).view(np.float32) for name, right in made.items()
    }
    found = run(
        device.text.replace(*change) if change[0] else device.text,
        device.folders,
        [(call.launch, call.arguments)],
        arrays,
        tmp_path,
        sanitizer=sanitizer,
    )
    # Sums of some hundred terms.
    return all(
        np.allclose(found[name].reshape(right.shape), right, rtol=2e-5, atol=2e-6)
        for name, right in made.items()
    )


def two_layers(tmp_path, monkeypatch, **given):
    monkeypatch.setattr(heads, "_MOST_THREADS", 64)
    device, (made, _) = Device(), expected()
    names = (*GIVEN, *made)
    call = heads.two_layers(device, *LAYERS, "relu", True, None, *names)
    return emulated(call, device, GIVEN, made, tmp_path, **given)


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_two_layers(sanitizer, tmp_path, monkeypatch):
    assert two_layers(tmp_path, monkeypatch, sanitizer=sanitizer)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("activated(BEFORE, whole", "activated(0, whole"),
        ("derivative(BELOW, value", "derivative(0, value"),
        ("row < INPUTS ? from[at]", "row < 0 ? from[at]"),
        ("changes[k % INPUTS * ITEMS + k / INPUTS]", "changes[k]"),
    ],
)
def test_what_is_left_out_is_caught(before, after, tmp_path, monkeypatch):
    assert not two_layers(tmp_path, monkeypatch, change=(before, after), sanitizer="address")


def test_threads_that_do_not_wait_race(tmp_path, monkeypatch):
    waits = "        __syncthreads();\n        UNROLL for (int c"
    with pytest.raises(Finding, match="data race"):
        two_layers(tmp_path, monkeypatch, change=(waits, waits.replace("__syncthreads();", "")))


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_gradients_of_weights(sanitizer, tmp_path):
    made, sums = expected()
    read = {"x": GIVEN["x"], "change": made["change"], "given": made["given"], "dz": made["dz"]}
    read = {name: value.astype(np.float32) for name, value in read.items()}
    device, calls = Device(), []
    work = SimpleNamespace(gpu=device, floats=lambda count: "partial")
    work.call = lambda make, *arguments: calls.append(make(*arguments))
    weights.linear_weights(work, LAYERS, list(read), list(sums))
    read["partial"] = np.zeros(1, np.float32)
    assert emulated(calls[0], device, read, sums, tmp_path, sanitizer=sanitizer)
