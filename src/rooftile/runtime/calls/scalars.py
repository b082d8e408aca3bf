"""Numbers and arrays of the host that a call needs on its arrays' device."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray
from rooftile.errors import InputError
from rooftile.ops.problem import AnyArray, numpy_dtype
from rooftile.runtime.arguments import Arguments, Taken


def number(name: str, value: Any) -> float:
    """A real number of Python or NumPy.  Raises `InputError` naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(name, repr(value), "a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            name, f"an integer of {int(value).bit_length()} bits", "a number"
        ) from None


def beside(given: Arguments[Any], x: Taken, value: float, dtype: str) -> Taken:
    """The number as an array of one element of x's kind, in x's place.

    On a GPU it is written on the caller's stream.  Raises `DeviceMissing`, `OutOfMemory`.
    """
    with np.errstate(over="ignore"):
        held = np.array([value], numpy_dtype(dtype))
    if not isinstance(x, CudaArray):
        return held
    device = cuda.lent_device(x.device)
    with device.on(given.library.stream(x)):
        made = given.library.empty((1,), device, dtype)
        device.put(held[0], made.address)
    return made


def placed(given: Arguments[Any], x: Taken, array: AnyArray) -> Taken:
    """A contiguous NumPy array as one of x's kind, in x's place; on a GPU a copy.

    Raises `DeviceMissing`, `OutOfMemory`.
    """
    if not isinstance(x, CudaArray):
        return array
    device = cuda.lent_device(x.device)
    with device.on(given.library.stream(x)):
        made = given.library.empty(array.shape, device, array.dtype.name)
        device.copy_in(array, made.address)
    return made
