"""Every public function refuses bad arrays by the argument's name: other libraries, places, dtypes;
and a graph's capture of what is not compiled.  A device that only notes stands for the GPU."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

import rooftile
from rooftile.devices import cuda
from rooftile.runtime.calls import gpu as execution
from rooftile.runtime.selection import choice
from tests.support import fake_cuda

IMAGES = {"x": (2, 3, 12, 20)}
CALLS = {
    "activation_gradient": ({"y": (4, 9), "dy": (4, 9)}, {"activation": "tanh"}),
    "add": ({"a": (40,), "b": (40,)}, {}),
    "argreduce": ({"x": (40,)}, {}),
    "argsort": ({"x": (40,)}, {}),
    "axpy": ({"x": (40,), "y": (40,)}, {"alpha": 2.0}),
    "box_blur": ({"image": ((30, 40), "uint8")}, {"radius": 2}),
    "compact": ({"x": (40,), "mask": ((40,), "bool")}, {}),
    "conv1d": ({"x": (40,), "mask": (3,)}, {}),
    "conv2d": ({**IMAGES, "weights": (5, 3, 3, 4), "bias": (5,)}, {}),
    "conv2d_input_gradient": (
        {"dy": (2, 5, 10, 17), "weights": (5, 3, 3, 4)}, {"size": (12, 20)},
    ),
    "conv2d_weights_gradient": ({**IMAGES, "dy": (2, 5, 10, 17)}, {"mask": (3, 4)}),
    "conv3d": ({"x": (9, 10, 11), "mask": (3, 3, 3)}, {}),
    "equalize": ({"image": ((30, 40), "uint8")}, {}),
    "grayscale": ({"image": ((30, 40, 3), "uint8")}, {}),
    "histogram": ({"x": ((400,), "uint8")}, {}),
    "linear": ({"x": (4, 30), "weights": (7, 30), "bias": (7,)}, {}),
    "linear_gradient": (
        {"x": (4, 30), "y": (4, 7), "dy": (4, 7), "weights": (7, 30)}, {},
    ),
    "loss_gradient": ({"y": (4, 30), "targets": ((4,), "int32")}, {}),
    "matmul": ({"a": (20, 30), "b": (30, 10)}, {}),
    "matvec": ({"a": (20, 30), "x": (30,)}, {}),
    "partition": ({"x": (40,), "pivot": (1,)}, {}),
    "permute_columns": ({"x": (20, 30), "index": ((30,), "int32")}, {}),
    "pool2d": (IMAGES, {"kind": "max", "window": 2}),
    "pool2d_gradient": ({**IMAGES, "dy": (2, 3, 6, 10)}, {"kind": "max", "window": 2}),
    "pool2d_winners": (IMAGES, {"window": 2}),
    "reduce": ({"x": (40,)}, {}),
    "rotate": ({"x": (40,)}, {}),
    "scale": ({"x": (40,)}, {"alpha": 2.0}),
    "scan": ({"x": (40,)}, {}),
    "scatter": ({"x": (40,), "index": ((9,), "int32"), "values": (9,)}, {}),
    "segmented_reduce": ({"x": (40,), "offsets": ((4,), "int32")}, {}),
    "segmented_scan": ({"x": (40,), "offsets": ((4,), "int32")}, {}),
    "separable": ({"x": (30, 40), "column": (3,), "row": (3,)}, {}),
    "softmax": ({"x": (4, 30)}, {}),
    "softmax_cross_entropy": ({"x": (4, 30), "labels": ((4,), "int32")}, {}),
    "softmax_gradient": ({"y": (4, 30), "dy": (4, 30)}, {}),
    "sort": ({"x": (40,)}, {}),
    "sort_pairs": ({"x": (40,), "with_it": ((40,), "int32")}, {}),
    "stencil": ({"x": (9, 10, 11), "coefficients": (7,)}, {}),
    "transpose": ({"x": (20, 30)}, {}),
    "unique": ({"x": (40,)}, {}),
}  # fmt: skip
"""The arrays of a call, by name: shape, or shape and dtype; and its other arguments."""
OF_MATRICES = {"cg", "identify", "sparse", "spmm", "spmv"}
"""Functions whose first argument is no array; `test_matrices` has them."""
OF_THE_HOST = {"from_packets", "load", "to_packets"}

OTHERS = [(name, array) for name, (arrays, _) in CALLS.items() for array in list(arrays)[1:]]
"""A function, and one of its arrays behind the first, which says where the call is."""
EVERY = [(name, array) for name, (arrays, _) in CALLS.items() for array in arrays]


@pytest.fixture
def device(monkeypatch):
    device = fake_cuda.Device()
    for name in ("lent_device", "open_device"):
        monkeypatch.setattr(cuda, name, lambda index=0: device)
    monkeypatch.setattr(choice, "kept", {})
    monkeypatch.setattr(execution, "executables", {})
    return device


@pytest.fixture
def cupy(device, monkeypatch):
    module = fake_cuda.library(device)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def call(cupy, name, **changes):
    arrays, options = CALLS[name]
    given = {}
    for array, of in arrays.items():
        shape, dtype = of if isinstance(of[0], tuple) else (of, "float32")
        given[array] = cupy.ndarray(shape, dtype=dtype)
    given |= {array: change(given[array]) for array, change in changes.items()}
    return getattr(rooftile, name)(**given, **options)


def test_every_function_is_here():
    functions = {n for n in rooftile.__all__ if inspect.isfunction(getattr(rooftile, n))}
    assert functions == {*CALLS, *OF_MATRICES, *OF_THE_HOST}


@pytest.mark.parametrize(("name", "array"), OTHERS)
def test_arrays_of_two_libraries(cupy, name, array):
    with pytest.raises(rooftile.InputError, match="NumPy") as refusal:
        call(cupy, name, **{array: lambda good: np.zeros(good.shape, good.dtype)})
    assert refusal.value.argument == array


@pytest.mark.parametrize(("name", "array"), OTHERS)
def test_arrays_on_two_gpus(cupy, name, array):
    with pytest.raises(rooftile.InputError, match="cuda:1") as refusal:
        call(cupy, name, **{array: lambda good: cupy.ndarray(good.shape, good.dtype, gpu=1)})
    assert refusal.value.argument == array


@pytest.mark.parametrize(("name", "array"), EVERY)
def test_dtypes(cupy, name, array):
    with pytest.raises(rooftile.InputError, match="complex64") as refusal:
        call(cupy, name, **{array: lambda good: cupy.ndarray(good.shape, dtype=np.complex64)})
    assert refusal.value.argument == array


@pytest.mark.parametrize(("name", "array"), EVERY)
def test_what_is_no_array(cupy, name, array):
    with pytest.raises(rooftile.InputError, match="a list") as refusal:
        call(cupy, name, **{array: lambda good: [1.0]})
    assert refusal.value.argument == array


@pytest.mark.parametrize("name", CALLS)
def test_a_capture_of_what_is_not_compiled(cupy, device, name):
    device.is_capturing_now = True
    with pytest.raises(rooftile.UnsupportedProblem, match="a graph is being captured"):
        call(cupy, name)
    assert not device.of("launch")
