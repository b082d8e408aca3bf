"""Scans: what the elements before each element come to, along an axis or within segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import check_flag, remembered, run
from rooftile.ops.operator import Operator, operator_of
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.ops.problem import DTYPES
from rooftile.runtime.arguments import ANY, Arguments, Array, dtype_of, is_empty
from rooftile.runtime.calls.fast_path import repeated


@repeated("x")
def scan(
    x: Array,
    operator: str | Operator = "sum",
    axis: int = -1,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``y[i] = x[0] op x[1] op ... op x[i]`` along an axis of x, which has any shape.

    ``operator`` is ``sum``, ``product``, ``min``, ``max``, or a `rooftile.Operator`.  ``exclusive``
    leaves x[i] itself out, so that the first result is the operator's identity; ``reverse`` begins
    at the last element.

    x has any dtype (docs/reference/dtypes.md).  The result has x's dtype, but integers and bool are
    combined in int64, uint64 in uint64, unless one of two is selected (``min``, ``max``), and wrap
    around there.  Numbers of 16 bits are combined in float32.  Sums of numbers carry along what
    their roundings lose: they do not stop growing, however many there are.  NaN and infinities
    propagate.  An empty array gives an empty one.  Every run gives the same bits.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 11.
    """
    combined = operator_of(operator)
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    rank = len(array.shape)
    if type(axis) is not int or not -rank <= axis < rank:
        expected = f"an axis of x, which has {rank}" if rank else "an x with axes"
        raise InputError("axis", repr(axis), expected)
    check_flag(exclusive=exclusive, reverse=reverse)
    shape = tuple(array.shape)
    if is_empty(array):
        made = combined.result(dtype_of(array))
        return given.nothing(array, shape, made, device, out)
    problem = _scan(shape, axis % rank, dtype_of(array), combined, exclusive, reverse)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


@repeated("x", "offsets")
def segmented_scan(
    x: Array,
    offsets: Array,
    operator: str | Operator = "sum",
    *,
    exclusive: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The scan of each segment ``x[offsets[s]:offsets[s + 1]]`` of x[count].

    ``offsets`` are int32 or int64, begin at 0, never fall and end at the count; segments may be
    empty. Other offsets are an error on the CPU. On a GPU, where the call would have to wait, they
    are not checked: results are undefined then, but nothing outside of the arrays is touched.
    Operators, dtypes and ``exclusive`` are as in `scan`, and an empty array gives an empty one.
    Every run gives the same bits.

    Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990).
    """
    given, combined = Arguments(x), operator_of(operator)
    array = given.take("x", x, "count", dtypes=DTYPES, empty=True)
    places = given.take("offsets", offsets, "segments + 1", dtypes=("int32", "int64"))
    (count,), (ends,) = array.shape, places.shape
    if ends < 2 and count:
        raise InputError("offsets", f"{ends} elements", "at least 2: where each segment ends, too")
    if not isinstance(places, CudaArray):
        _check_offsets(np.asarray(places), count)
    check_flag(exclusive=exclusive)
    if is_empty(array):
        return given.nothing(array, (0,), combined.result(dtype_of(array)), device, out)
    index = dtype_of(places)
    problem = _segmented(count, ends - 1, dtype_of(array), combined, exclusive, index)
    return run(given, problem, [array, places], {}, "ieee", strategy, device, out)


def _check_offsets(offsets: Any, count: int) -> None:
    """Raise `InputError` unless they begin at 0, never fall, and end at the count."""
    if offsets[0] != 0 or offsets[-1] != count:
        found = f"from {offsets[0]} to {offsets[-1]}"
        raise InputError("offsets", found, f"from 0 to {count}, the elements of x")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        at = int(falls[0])
        raise InputError("offsets", f"{offsets[at]} and then {offsets[at + 1]}", "never falling")


_scan, _segmented = remembered(Scan), remembered(SegmentedScan)
