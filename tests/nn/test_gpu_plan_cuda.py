"""A plan's calls with arrays in a GPU's memory: a device that only notes stands for it."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

import rooftile
from rooftile.devices import cuda
from rooftile.devices.cuda import exchange
from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels
from rooftile.ops import Pool
from rooftile.ops.patterns.convert import Convert
from rooftile.ops.patterns.standardise import Standardise
from rooftile.runtime.selection import choice
from tests.support import fake_cuda
from tests.support.fake_cuda import OWN, Array

LEGACY = 1
SHAPE = (1, 20, 18)
LAYERS = (
    ConvLayer("conv1", 3, 3, padding=1, activation="relu", pool=Pool.of("max", 2)),
    LinearLayer("linear1", 8),
)
PIXELS = Network("pixels", SHAPE, LAYERS, pixels=Pixels()).initialise(3)
SMALL = Network("small", SHAPE, LAYERS).initialise(3)


@pytest.fixture
def device(monkeypatch):
    """A GPU that computes nothing; arrays know theirs by their attribute."""
    device = fake_cuda.Device()
    monkeypatch.setattr(cuda, "open_device", lambda index=0: device)
    monkeypatch.setattr(choice, "kept", {})
    monkeypatch.setattr(exchange, "device_of", fake_cuda.gpus.__getitem__)
    return device


@pytest.fixture
def cupy(device, monkeypatch):
    """A library like CuPy that is imported and whose arrays are on the device."""
    module = fake_cuda.library(device)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def plan(device):
    made = PIXELS.plan(batch=8, device="cuda")
    device.log.clear()
    return made


def launches(device):
    return [(stream, kernel, arguments) for stream, (kernel, arguments) in device.of("launch")]


def kernels(problems):
    """Names of the kernels of each problem's strategy."""
    return [choice.choose(problem, device="cuda").kernel() for problem in problems]


def test_the_layers_get_the_arrays_own_memory_on_the_callers_stream(plan, cupy, device):
    for current, stream in ((0, LEGACY), (7, 7)):
        cupy.current = current
        x = cupy.ndarray((5, *SHAPE))
        device.log.clear()
        y = plan(x)
        assert type(y) is cupy.ndarray
        assert (y.shape, y.dtype) == ((5, 8), np.float32)
        first, *_, last = launches(device)
        assert {at for at, *_ in launches(device)} == {stream}
        assert first[2][0] == x.data.ptr
        assert y.data.ptr in last[2]
        assert not device.of("copy_in") + device.of("copy_out") + device.of("allocate")
        assert not device.of("synchronise")
        # The result, and what is between the layers.
        assert len(device.of("alloc")) == 2


def test_pixels_and_16_bit_images_are_converted_on_the_callers_stream(plan, cupy, device):
    cupy.current = 7
    plan(cupy.ndarray((5, *SHAPE)))
    layers = [kernel for _, kernel, _ in launches(device)]
    count, results = 5 * math.prod(SHAPE), 5 * 8
    reads, rounds = Convert(count, "float16", "float32"), Convert(results, "float32", "float16")
    pixels = Standardise(count, math.prod(SHAPE[1:]), 1)
    for dtype, scores, before, after in (
        ("uint8", "float32", [pixels], []), ("float16", "float16", [reads], [rounds])
    ):  # fmt: skip
        x = cupy.ndarray((5, *SHAPE), dtype=dtype)
        assert plan(x).dtype == scores
        device.log.clear()
        y = plan(x)
        ran = launches(device)
        assert {at for at, *_ in ran} == {7}
        assert [kernel for _, kernel, _ in ran] == [*kernels(before), *layers, *kernels(after)]
        assert ran[0][2][0] == x.data.ptr
        assert y.data.ptr in ran[-1][2]
    assert plan(cupy.ndarray((5, *SHAPE[1:]), dtype="uint8")).shape == (5, 8)


def test_what_is_compiled_for_a_dtype_is_on_the_devices_own_stream(plan, cupy, device):
    cupy.current = 7
    plan(cupy.ndarray((5, *SHAPE), dtype="uint8"))
    # A program belongs to no stream.
    assert device.of("compile")
    made = device.of("upload") + device.of("synchronise")
    assert {stream for stream, _ in made} == {OWN}
    device.log.clear()
    plan(cupy.ndarray((5, *SHAPE), dtype="uint8"))
    assert not device.of("compile")


def test_scores_go_into_out(plan, cupy, device):
    x, out = cupy.ndarray((5, *SHAPE)), cupy.ndarray((5, 8))
    assert plan(x, out=out) is out
    assert out.data.ptr in launches(device)[-1][2]
    assert len(device.of("alloc")) == 1


def test_arrays_with_the_interface_alone(plan, device):
    x, out = Array((5, *SHAPE), stream=7), Array((5, 8), stream=9)
    assert plan(x, out=out) is out
    assert {at for at, *_ in launches(device)} == {7}
    assert device.of("after_stream") == [(7, 9)]
    # Memory of ours, in the order of that stream.
    assert {stream for stream, _ in device.of("allocate")} == {7}


def test_a_graph_takes_what_was_called_before(plan, cupy, device):
    cupy.current = 7
    call = lambda count, dtype="float32": plan(cupy.ndarray((count, *SHAPE), dtype=dtype))  # noqa: E731
    device.is_capturing_now = True
    with pytest.raises(rooftile.UnsupportedProblem, match="same call once before"):
        call(5)
    assert not launches(device)
    device.is_capturing_now = False
    call(5)
    device.is_capturing_now = True
    device.log.clear()
    y = call(5)
    assert {(what, stream) for what, stream, _ in device.log} == {("alloc", 7), ("launch", 7)}
    # What the graph writes belongs to nobody else as long as the plan lives.
    kept = [memory.owner for memory in plan._calls_in_place._kept]
    assert len(kept) == 1
    assert y not in kept
    for other in (lambda: call(6), lambda: call(5, "uint8")):
        with pytest.raises(rooftile.UnsupportedProblem, match="same call once before"):
            other()
    with pytest.raises(rooftile.UnsupportedProblem, match="PyTorch or CuPy"):
        plan(Array((5, *SHAPE)), out=Array((5, 8)))


def test_a_view_is_copied_by_its_library(plan, cupy, device):
    for x in (
        cupy.ndarray((5, *SHAPE), contiguous=False), cupy.ndarray((5, *SHAPE), address=2**20 + 4)
    ):  # fmt: skip
        device.log.clear()
        plan(x)
        assert [copied for _, copied in device.of("copy")] == [x]


def of_interface(**changes):
    return Array(**{"shape": (5, *SHAPE), **changes})


BAD = {
    "another GPU": ("images", lambda plan: plan(of_interface(gpu=1), out=Array((5, 8)))),
    "dtype": ("images", lambda plan: plan(of_interface(typestr="<f8"), out=Array((5, 8)))),
    "shape": ("images", lambda plan: plan(of_interface(shape=(5, 1, 20, 17)))),
    "no channel": ("images", lambda plan: plan(of_interface(shape=(5, 20, 18)))),
    "gaps": ("images", lambda plan: plan(of_interface(strides=(2880, 2880, 144, 8)))),
    "no out": ("out", lambda plan: plan(of_interface())),
    "out of NumPy": (
        "out", lambda plan: plan(of_interface(), out=np.zeros((5, 8), np.float32))
    ),
    "images of NumPy": (
        "out", lambda plan: plan(np.zeros((5, *SHAPE), np.float32), out=Array((5, 8)))
    ),
    "shape of out": ("out", lambda plan: plan(of_interface(), out=Array((5, 7)))),
    "dtype of out": ("out", lambda plan: plan(of_interface(), out=Array((5, 8), typestr="<f2"))),
    "out on another GPU": ("out", lambda plan: plan(of_interface(), out=Array((5, 8), gpu=1))),
    "read-only out": (
        "out", lambda plan: plan(of_interface(), out=Array((5, 8), read_only=True))
    ),
    "out over images": (
        "out",
        lambda plan: plan(of_interface(address=2**20), out=Array((5, 8), address=2**20 + 64)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("argument", "call"), BAD.values(), ids=BAD)
def test_bad_input_names_the_argument_and_starts_nothing(argument, call, plan, device):
    with pytest.raises(rooftile.InputError) as caught:
        call(plan)
    assert caught.value.argument == argument
    assert not device.of("launch")


def test_pixels_want_a_network_that_says_how_they_become_numbers(cupy, device):
    with pytest.raises(rooftile.InputError, match="uint8") as caught:
        SMALL.plan(batch=8, device="cuda")(cupy.ndarray((5, *SHAPE), dtype="uint8"))
    assert caught.value.argument == "images"


def test_the_second_gpu(cupy, device):
    device.description = replace(device.description, index=1)
    plan = PIXELS.plan(batch=8, device="cuda:1")
    assert plan(cupy.ndarray((5, *SHAPE), gpu=1)).device.id == 1
    with pytest.raises(rooftile.InputError, match="cuda:0"):
        plan(cupy.ndarray((5, *SHAPE)))


def refuses(plan, x):
    with pytest.raises(rooftile.InputError, match="CPU's memory") as caught:
        plan(x)
    assert caught.value.argument == "images"


def test_a_plan_on_the_cpu_refuses_them(cupy):
    refuses(PIXELS.plan(batch=8), cupy.ndarray((5, *SHAPE)))


def test_a_plan_on_opencl_refuses_them(cupy, opencl_device):
    refuses(PIXELS.plan(batch=8, device="opencl"), cupy.ndarray((5, *SHAPE)))
