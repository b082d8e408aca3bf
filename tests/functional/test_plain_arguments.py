"""Numbers of NumPy, arrays without axes and devices of PyTorch are taken by every function."""

from __future__ import annotations

import inspect
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import rooftile
from rooftile import functional
from rooftile.nn import LinearLayer, Network

from . import valid_calls

X = np.arange(24, dtype=np.float32).reshape(4, 6)
IMAGES, MASK = X.reshape(1, 1, 4, 6), np.ones((1, 1, 3, 3), np.float32)


class FakeDevice:
    """What is asked of a `torch.device`, without PyTorch."""

    def __init__(self, kind, index=None):
        self.type, self.index = kind, index

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


FakeDevice.__name__, FakeDevice.__module__ = "device", "torch"

CALLS = {
    "add": lambda d, n: rooftile.add(X, X, device=d),
    "argreduce": lambda d, n: rooftile.argreduce(X, "max", n(1), device=d),
    "argsort": lambda d, n: rooftile.argsort(X, n(0), device=d),
    "axpy": lambda d, n: rooftile.axpy(n(2), X, X, device=d),
    "conv2d": lambda d, n: rooftile.conv2d(
        IMAGES, MASK, stride=(n(1), n(2)), padding=n(1), pool=("max", n(2)), device=d
    ),
    "histogram": lambda d, n: rooftile.histogram(X, n(5), (n(0), n(9)), device=d),
    "partition": lambda d, n: rooftile.partition(X, n(7), device=d)[0],
    "pool2d": lambda d, n: rooftile.pool2d(IMAGES, "max", n(2), device=d),
    "reduce": lambda d, n: rooftile.reduce(X, "sum", (n(0), n(1)), device=d),
    "rotate": lambda d, n: rooftile.rotate(X, n(2), device=d),
    "scale": lambda d, n: rooftile.scale(n(2), X, device=d),
    "scan": lambda d, n: rooftile.scan(X, axis=n(0), device=d),
    "sort": lambda d, n: rooftile.sort(X, n(0), device=d),
    "transpose": lambda d, n: rooftile.transpose(X, (n(1), n(0)), device=d),
    "unique": lambda d, n: rooftile.unique(X, axis=n(1), device=d),
    "Conv2d": lambda d, n: rooftile.Conv2d(MASK, stride=n(2), device=d)(IMAGES),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("number", [np.int64, np.uint8, np.array], ids=lambda one: one.__name__)
def test_numbers_of_numpy(name, number):
    assert np.array_equal(CALLS[name](None, number), CALLS[name](None, int))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("index", [None, 0])
def test_devices_of_pytorch(name, index):
    assert np.array_equal(CALLS[name](FakeDevice("cpu", index), int), CALLS[name]("cpu", int))


@pytest.mark.parametrize("name", [name for name in functional.__all__ if name[0].islower()])
def test_every_function_takes_the_devices_of_pytorch(name):
    function = getattr(rooftile, name)
    if "device" not in inspect.signature(function).parameters:
        # `plain` or `repeated` wraps it all the same.
        assert inspect.unwrap(function) is not function
        return
    with pytest.raises(rooftile.InputError, match="device: got 'mps'"):
        function(**valid_calls.CALLS[name](40), device=FakeDevice("mps"))
    function(**valid_calls.CALLS[name](40), device=FakeDevice("cpu", 0))


@pytest.mark.parametrize("name", ["conv2d", "matmul", "pool2d", "scan", "softmax", "transpose"])
def test_a_repeated_call_does_not_pay_for_it(name):
    function, given = getattr(rooftile, name), valid_calls.CALLS[name](40)
    function(**given)
    function(**given)
    seen = []
    sys.setprofile(lambda frame, event, value: seen.append((event, frame.f_code.co_filename)))
    try:
        function(**given)
    finally:
        sys.setprofile(None)
    files = [Path(file).name for event, file in seen if event == "call"]
    assert "fast_path.py" in files
    assert "plain.py" not in files


def test_floats_and_flags_of_numpy():
    for two in (np.float32(2), np.float16(2), np.float64(2), np.array(2.0)):
        assert np.array_equal(rooftile.scale(two, X), 2 * X)
    assert np.array_equal(rooftile.sort(X, descending=np.True_), X[:, ::-1])


@pytest.mark.parametrize("device", [FakeDevice("cuda", 17), FakeDevice("cuda")])
def test_a_gpu_of_pytorch_is_that_of_its_name(device):
    found = []
    for one in (device, str(device)):
        try:
            found.append(rooftile.sort(X, device=one))
        except rooftile.RooftileError as error:
            found.append((type(error), str(error)))
    assert str(found[0]) == str(found[1])


def test_other_devices_are_refused():
    for device in (FakeDevice("mps"), 3):
        with pytest.raises(rooftile.InputError, match="device"):
            rooftile.sort(X, device=device)


def test_networks_take_devices_of_pytorch():
    weights = np.ones((2, 6), np.float32)
    parameters = {"a.weights": weights, "a.bias": weights[:, 0]}
    network = Network("n", 6, [LinearLayer("a", 2)], parameters)
    made = network.plan(batch=4, device=FakeDevice("cpu", 0))(X)
    assert np.array_equal(made, network.plan(batch=4, device="cpu")(X))


def test_what_is_wrong_is_still_said_once():
    with pytest.raises(rooftile.InputError, match=r"axis: got 1\.5") as caught:
        rooftile.sort(X, np.float32(1.5))
    assert caught.value.__context__ is None
    with pytest.raises(rooftile.InputError, match="x: got a float"):
        rooftile.sort(np.float32(2))


def test_functions_can_be_sent_to_other_processes():
    for name in functional.__all__:
        value = getattr(rooftile, name)
        assert pickle.loads(pickle.dumps(value)) is value
        assert inspect.signature(value)
