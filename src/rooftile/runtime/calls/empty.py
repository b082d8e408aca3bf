"""Arrays without elements: what a function gives for them is known without a strategy."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName, parse_device
from rooftile.ops.problem import Array as ArrayOf
from rooftile.ops.problem import Dtype, Problem, numpy_dtype
from rooftile.runtime.arguments import Arguments, Array, Taken
from rooftile.runtime.selection.choice import decide


def is_empty(*arrays: Taken) -> bool:
    """Whether one of them has no element."""
    return any(0 in array.shape for array in arrays)


def of_no_batch(
    given: Arguments[Array],
    problem: Problem,
    first: Taken,
    shape: tuple[int, ...] | None,
    precision: str,
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    """The empty result of a batch without items, where ``problem`` has a batch of one.

    ``shape`` None stands for the problem's own.  Raises the errors of `decide`, as for a batch
    with items.
    """
    place = given.device(device)
    decide(problem, given.precision(precision, place), place, strategy)
    (result,) = problem.output_arrays
    return of_nothing(given, first, shape or (0, *result.shape[1:]), result.dtype, device, out)


def of_nothing(
    given: Arguments[Array],
    first: Taken,
    shape: tuple[int, ...],
    dtype: Dtype,
    device: DeviceName | None,
    out: Array | None,
    value: Any = 0,
) -> Array:
    """A result of this shape, where ``first`` lies, in which each element is ``value``.

    A dtype of float32 stands for that of x, as everywhere.  Raises `InputError` for a device or an
    ``out`` that another call would refuse.
    """
    parse_device(given.device(device))
    own: Any = given.dtype if dtype == "float32" else dtype
    result = ArrayOf("out", shape, own, role="output")
    to = None if out is None else given.take_out(out, result, [])
    values = np.full(shape, value, numpy_dtype(result.dtype))
    if not isinstance(first, CudaArray):
        if to is not None:
            to[...] = values
        made: Any = given.library.from_host(values) if out is None else out
        return made  # type: ignore[no-any-return]
    library, place = given.library, cuda.lent_device(first.device)
    with place.on(library.stream(first)):
        memory = to or library.result(shape, place, result.dtype)
        if values.size:
            place.copy_in(values, memory.address)
        if out is not None:
            return out
        return library.finish(memory, place)  # type: ignore[no-any-return]
