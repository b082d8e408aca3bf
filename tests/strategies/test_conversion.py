"""A caller's arrays in other types of number, or with their channels last, on a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rooftile.devices.cuda import compile_cubin
from rooftile.devices.cuda.compile import cuda_core
from rooftile.errors import DeviceMissing
from rooftile.ops.problem import Array, numpy_dtype
from rooftile.strategies.binding import executable
from rooftile.strategies.binding.packing import Form

ROOM = Path(executable.__file__).parents[1]
DTYPES = ("float32", "float16", "bfloat16")
# Off the grid; runs over several pixels, and in several tiles; tiles of channels, in runs and not.
SHAPES = ((1, 1, 1, 1), (2, 3, 7, 9), (2, 3, 20, 91), (3, 70, 5, 13), (2, 72, 8, 9))
GUARD = 8


def values(shape, dtype):
    made = np.random.default_rng(3).standard_normal(shape, np.float32)
    flat = made.reshape(-1)
    special = (np.nan, np.inf, -np.inf, 1e-7, 65504.0, 3e38, -0.0)[: flat.size - 1]
    flat[: len(special)] = special
    with np.errstate(over="ignore"):
        return made.astype(numpy_dtype(dtype))


def laid(array, form):
    """The array as it lies in memory."""
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1) if form.channels_last else array)


def converted(device, shape, given, wanted):
    x = values(shape, given.dtype)
    out = np.full(x.size + GUARD, 7, numpy_dtype(wanted.dtype))
    call = executable.conversion(device, shape, "x", given, "y", wanted)
    source, to = device.upload(laid(x, given)), device.upload(out)
    device.launches([call], ("x", "y")).start((source, to))
    device.copy_out(to, out)
    np.testing.assert_array_equal(out[x.size :].astype(np.float32), 7)
    with np.errstate(over="ignore"):
        expected = laid(x.astype(np.float32).astype(numpy_dtype(wanted.dtype)), wanted)
    return out[: x.size].reshape(expected.shape), expected


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        *((Form("float32"), Form(dtype)) for dtype in DTYPES[1:]),
        *((Form(dtype), Form("float32")) for dtype in DTYPES[1:]),
        *((Form(dtype, True), Form("float32")) for dtype in DTYPES),
        *((Form("float32"), Form(dtype, True)) for dtype in DTYPES),
        (Form("float16", True), Form("float16")),
        (Form("bfloat16"), Form("bfloat16", True)),
    ],
    ids=str,
)
def test_numbers_and_axes_are_numpys(shape, given, wanted, device):
    found, expected = converted(device, shape, given, wanted)
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_only_what_is_otherwise_is_converted(device):
    arrays = (
        Array("x", (2, 3, 4, 5)),
        Array("weights", (6, 3, 3, 3), role="parameter"),
        Array("out", (2, 6, 2, 3), role="output"),
    )
    assert executable.Adapter(device, arrays).names == ["x", "weights", "out"]
    forms = {"x": Form("float16"), "out": Form("float16", True), "weights": Form("float32")}
    ends = executable.Adapter(device, arrays, forms)
    assert ends.names == ["the caller's x", "weights", "the caller's out"]
    assert ends.temporaries == {"x": 120, "out": 72}
    assert [call.launch.kernel for call in ends.before] == ["convert"]
    assert [call.launch.kernel for call in ends.after] == ["exchange"]


@pytest.mark.parametrize(("architecture", "last"), [("sm_75", 0), ("sm_90a", 1)])
def test_the_kernels_compile(architecture, last):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    formats = {"FROM": "BFLOAT16", "TO": "FLOAT16", "FROM_LAST": last}
    macros = {**formats, **executable._tile((2, 72, 8, 9))}
    assert compile_cubin(executable._text(), macros, architecture, [ROOM])
