"""What the CUDA Array Interface says of an array; no GPU needed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.devices.cuda import CudaArray, exchange
from rooftile.devices.cuda.exchange import of_interface
from rooftile.errors import DeviceMissing, InputError
from rooftile.ops.array import DTYPES


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch):
    monkeypatch.setattr(exchange, "device_of", lambda address: 3)


DEVICE_OF = exchange.device_of


def told(array, **changes):
    """An array with the interface of a NumPy array's memory."""
    interface = {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (array.ctypes.data, not array.flags.writeable),
        "strides": array.strides,
        "version": 3,
    }
    return SimpleNamespace(__cuda_array_interface__={**interface, **changes})


X = np.zeros((4, 6), np.float32)


def test_what_an_array_says_of_itself():
    array = told(X, stream=7)
    seen = of_interface("x", array)
    assert seen == CudaArray(array, X.ctypes.data, (4, 6), 3, True, True, 7)
    frozen = X.copy()
    frozen.flags.writeable = False
    seen = of_interface("x", told(frozen, strides=None))
    assert (seen.contiguous, seen.writeable, seen.stream) == (True, False, None)


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bfloat16"])
def test_an_array_may_have_every_dtype_that_numpy_has(name):
    assert of_interface("x", told(X.astype(name)), DTYPES).dtype == name


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.data(),
)
def test_contiguous_is_what_numpy_calls_so(shape, data):
    view = np.zeros(shape, np.float32)
    view = view.transpose(data.draw(st.permutations(range(len(shape)))))
    step = tuple(data.draw(st.sampled_from([1, 1, 2, -1])) for _ in shape)
    view = view[tuple(slice(None, None, s) for s in step)]
    if data.draw(st.booleans()):
        view = np.broadcast_to(view, (2, *view.shape))
    assert of_interface("x", told(view)).contiguous == view.flags.c_contiguous


@pytest.mark.parametrize(
    "changes",
    [{"typestr": "<f8"}, {"typestr": ">f4"}, {"typestr": "<i4"}, {"mask": told(X)}],
    ids=["float64", "swapped bytes", "integers", "masked"],
)
def test_what_is_no_plain_float32_is_refused(changes):
    with pytest.raises(InputError) as caught:
        of_interface("weights", told(X, **changes))
    assert caught.value.argument == "weights"


@pytest.mark.parametrize(
    ("address", "contiguous", "ready"),
    [(4096, True, True), (4096, False, False), (4100, True, False), (4112, True, True)],
)
def test_ready_is_contiguous_and_aligned(address, contiguous, ready):
    assert CudaArray(None, address, (2,), 0, contiguous).ready is ready


@given(st.integers(0, 40), st.integers(1, 5), st.integers(0, 40), st.integers(1, 5))
def test_overlap_is_a_common_byte(first, count, other, others):
    a, b = CudaArray(None, 4 * first, (count,), 0), CudaArray(None, 4 * other, (others,), 0)
    common = set(range(first, first + count)) & set(range(other, other + others))
    assert a.overlaps(b) == b.overlaps(a) == bool(common)


def test_without_a_driver_the_device_is_missing(monkeypatch):
    def missing():
        raise DeviceMissing("a working NVIDIA driver (libcuda.so.1)", "NVIDIA's driver")

    def no_driver():
        raise OSError("no driver")

    monkeypatch.setattr(exchange, "open_device", missing)
    monkeypatch.setattr(exchange, "current_context", no_driver)
    monkeypatch.setattr(exchange, "device_of", DEVICE_OF)
    with pytest.raises(DeviceMissing, match="driver"):
        of_interface("x", told(X))
