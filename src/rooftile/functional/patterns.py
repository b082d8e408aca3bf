"""Parallel patterns: reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.functional.layout import transpose
from rooftile.ops import Precision
from rooftile.ops.operator import Operator, operator_of
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.ops.patterns.over_axes import axes_of
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.ops.problem import DTYPES
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken, dtype_of, is_empty
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.calls.plain import plain


@repeated("x")
def reduce(
    x: Array,
    operator: str | Operator = "sum",
    axis: int | tuple[int, ...] | None = None,
    *,
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """x combined over all of it (``axis`` None), along one axis or along several.

    ``operator`` is ``"sum"``, ``"product"``, ``"min"``, ``"max"`` or an `Operator`.  x has any
    shape and any dtype (docs/reference/dtypes.md).  Numbers of 16 bits are combined in float32 and
    rounded once; sums and products of integers and bool are int64, of uint64 uint64, and wrap
    around; what is selected keeps its dtype.  NaN and infinities propagate.  The result has x's
    shape without the axes.  Of an empty array a sum is 0, a product 1, and another operator
    gives its identity; the least and the greatest of nothing are errors.  Axes with others between
    them cost a transposition.  Every run gives the same bits, but for the strategy ``atomic``.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 10.
    """
    combining = operator_of(operator)
    shape = tuple(x.shape) if hasattr(x, "shape") else ()
    if 0 in shape:
        return _of_nothing(x, combining, axis, device, out)
    axes = None if axis is None else axes_of(axis, len(shape))
    if axes is not None and axes != tuple(range(axes[0], axes[-1] + 1)):
        kept = tuple(one for one in range(len(shape)) if one not in axes)
        moved = transpose(x, (*kept, *axes), device=device)
        last = tuple(range(len(kept), len(shape)))
        # A call of its own: a call that is kept reads x without a copy.
        options: Any = {"precision": precision, "strategy": strategy, "device": device}
        return reduce(moved, operator=operator, axis=last, out=out, **options)
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES)
    problem = _reduce(tuple(array.shape), axes, dtype_of(array), combining)
    return run(given, problem, [array], {}, precision, strategy, device, out)


@repeated("x")
def argreduce(
    x: Array,
    operator: Any = "max",
    axis: int | None = None,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The index of the greatest (``"max"``) or least (``"min"``) element: int64, as NumPy counts.

    Over all of x (``axis`` None) it is the flat index, along an axis the index in that.  Of equal
    elements the first is found, and the first NaN where there is one.  x is of a dtype that
    `reduce` takes; along an axis without elements there is no place, which is an error.  Every run
    gives the same result.
    """
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=axis is not None)
    shape = tuple(array.shape)
    if 0 in shape:
        return _places_of_nothing(given, array, operator, axis, device, out)
    problem = _argreduce(shape, axis, dtype_of(array), operator)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


@plain
def segmented_reduce(
    x: Array,
    offsets: Array,
    operator: str | Operator = "sum",
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """Each segment ``x[offsets[s]:offsets[s + 1]]`` combined on its own; empty: the identity.

    x is [count] of a dtype that `reduce` takes, ``offsets`` int64 or int32[segments + 1]. They rise
    from 0 to count: of arrays in the CPU's memory others are an error. On a GPU, where the call
    would have to wait, other offsets give any results. An empty x has empty segments, or none.
    Every run gives the same bits.
    """
    combining = operator_of(operator)
    given = Arguments(x)
    array = given.take("x", x, "count", dtypes=DTYPES, empty=True)
    wanted = given.take("offsets", offsets, "segments + 1", dtypes=("int64", "int32"))
    (count,), (ends,) = array.shape, wanted.shape
    if ends < 2 and count:
        raise InputError("offsets", f"{ends} elements", "one more than there are segments")
    if not isinstance(wanted, CudaArray):
        _check_offsets(wanted, count)
    if is_empty(array):
        made = combining.result(dtype_of(array))
        identity = combining.identity_in(made)
        return given.nothing(array, (ends - 1,), made, device, out, identity)
    sizes = count, ends - 1
    problem = _segmented(*sizes, dtype_of(array), combining, dtype_of(wanted))
    return run(given, problem, [array, wanted], {}, "ieee", strategy, device, out)


def _of_nothing(
    x: Array,
    operator: Operator,
    axis: int | tuple[int, ...] | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    """The identity, for every result of an array without elements."""
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    shape = tuple(array.shape)
    axes = axes_of(axis, len(shape))
    if operator.selects and any(shape[one] == 0 for one in axes):
        raise InputError("x", f"the empty shape {shape}", "elements to select one of")
    made = operator.result(dtype_of(array))
    kept = tuple(n for one, n in enumerate(shape) if one not in axes)
    identity = operator.identity_in(made)
    return given.nothing(array, kept, made, device, out, identity)


def _places_of_nothing(
    given: Arguments[Array],
    array: Taken,
    operator: Any,
    axis: int | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    """No places, where there are no lines; a line without elements has none to find."""
    shape = tuple(array.shape)
    filled = _argreduce(tuple(max(1, size) for size in shape), axis, dtype_of(array), operator)
    if any(shape[one] == 0 for one in filled.axes):
        raise InputError("x", f"the empty shape {shape}", "elements to find one of")
    kept = tuple(n for one, n in enumerate(shape) if one not in filled.axes)
    return given.nothing(array, kept, "int64", device, out)


def _check_offsets(offsets: Any, count: int) -> None:
    if offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 0).any():
        found = f"elements from {offsets[0]} to {offsets[-1]}"
        raise InputError("offsets", found, f"elements that rise from 0 to {count}, x's length")


_reduce, _argreduce = remembered(Reduce), remembered(Argreduce)
_segmented = remembered(SegmentedReduce)
