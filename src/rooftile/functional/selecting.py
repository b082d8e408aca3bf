"""Selecting: the elements that a mask keeps."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import check_flag, remembered, run_several
from rooftile.ops.patterns.compact import Compact
from rooftile.ops.problem import DTYPES
from rooftile.runtime.arguments import ANY, Arguments, Array, dtype_of, flat, is_empty
from rooftile.runtime.calls.plain import plain


@overload
def compact(
    x: Array,
    mask: Array,
    *,
    ordered: bool = True,
    counted: Literal[False] = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array: ...


@overload
def compact(
    x: Array,
    mask: Array,
    *,
    ordered: bool = True,
    counted: Literal[True],
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> tuple[Array, Array]: ...


@plain
def compact(
    x: Array,
    mask: Array,
    *,
    ordered: bool = True,
    counted: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array | tuple[Array, Array]:
    """``x[mask]``: the elements that a mask keeps, in their order, as one axis.

    x has any shape and any dtype; ``mask`` is bool and has x's shape.  Elements are moved as they
    are.  Without ``ordered`` they may come in any order, which the strategies ``atomic`` and
    ``aggregated`` ask for.

    The result is a view of an array as long as x, or of ``out``, which has x's number of elements.
    The view's length depends on the data: on a GPU the call waits for that number. With ``counted``
    it does not wait, and a graph may be captured: the results are the whole array and the number of
    kept elements, int64[1]; later elements are undefined.

    Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5;
    Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (NVIDIA
    NVR-2016-002, 2016).
    """
    check_flag(ordered=ordered, counted=counted)
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    wanted = given.take("mask", mask, ANY, dtypes=("bool",), empty=True)
    if tuple(wanted.shape) != tuple(array.shape):
        found = f"shape {tuple(wanted.shape)}"
        raise InputError("mask", found, f"x's shape {tuple(array.shape)}")
    dtype = dtype_of(array)
    if is_empty(array):
        nothing = given.nothing(array, (0,), dtype, device, out)
        if not counted:
            return nothing
        return nothing, given.nothing(array, (1,), "int64", device, None)
    problem = _compact(math.prod(array.shape), dtype, ordered)
    inputs = [flat(array), flat(wanted)]
    y, kept = run_several(given, problem, inputs, strategy, device, (out, None))
    if counted:
        return y, kept
    row: Any = y
    number: Any = kept
    return row[: int(number[0])]  # type: ignore[no-any-return]


_compact = remembered(Compact)
