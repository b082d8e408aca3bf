"""Sorting: values, places, pairs, and two sides of a pivot."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import check_flag, remembered, run, run_several
from rooftile.ops.patterns.partition import Partition
from rooftile.ops.patterns.sort import MOVED, Sort
from rooftile.ops.problem import DTYPES, AnyArray, numpy_dtype
from rooftile.runtime.arguments import ANY, Arguments, Array, dtype_of, flat, is_empty
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.calls.scalars import placed


@repeated("x")
def sort(
    x: Array,
    axis: int = -1,
    *,
    descending: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The elements of each line of x along an axis, from the least to the greatest.

    x has any shape and any dtype (docs/reference/dtypes.md); the result has its shape and dtype.
    -0.0 comes before +0.0, and NaN last; which NaN, is not said.  ``descending`` turns this order
    round: the greatest comes first, and NaN before it, as in PyTorch.  An empty array gives an
    empty one.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 13.
    """
    return _along(x, axis, "values", descending, strategy, device, out)


@repeated("x")
def argsort(
    x: Array,
    axis: int = -1,
    *,
    descending: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The indices that sort the lines of x, int64: ``numpy.argsort(kind="stable")``.

    Equal elements keep their order, and so do -0.0 and +0.0, and NaN at the end; also in the
    ``descending`` order, in which NaN is at the beginning. Dtypes are as in `sort`; a line has less
    than 2^30 elements on a GPU.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 13.
    """
    return _along(x, axis, "places", descending, strategy, device, out)


@plain
def sort_pairs(
    x: Array,
    with_it: Array,
    axis: int = -1,
    *,
    descending: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> tuple[Array, Array]:
    """x sorted along an axis, and the elements of ``with_it`` in the order of x's.

    ``with_it`` has x's shape and is float32 or int32. Equal elements of x keep the order of their
    partners; -0.0 goes before +0.0, and every NaN equals every other one. ``descending`` and dtypes
    are as in `sort`.

    Source: Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs"
    (arXiv:2206.01784, 2022).
    """
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES)
    along = given.take("with_it", with_it, ANY, dtypes=MOVED)
    shape = tuple(array.shape)
    if tuple(along.shape) != shape:
        raise InputError("with_it", f"shape {tuple(along.shape)}", f"x's shape {shape}")
    check_flag(descending=descending)
    of, moves = dtype_of(array), dtype_of(along)
    problem = _sort(shape, _axis(axis, len(shape)), of, "pairs", moves, descending)
    y, moved = run_several(given, problem, [array, along], strategy, device, (None, None))
    return y, moved


@overload
def partition(
    x: Array,
    pivot: Array | float,
    *,
    counted: Literal[False] = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> tuple[Array, int]: ...


@overload
def partition(
    x: Array,
    pivot: Array | float,
    *,
    counted: Literal[True],
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> tuple[Array, Array]: ...


@plain
def partition(
    x: Array,
    pivot: Array | float,
    *,
    counted: bool = False,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> tuple[Array, Array | int]:
    """The elements of x that go before a pivot, then the others; and the number of the former.

    Both keep their order in x, which has any shape and becomes one axis: quicksort's step, stable.
    ``pivot`` is an array of one element of x's library and dtype, or a number. The order is as in
    `sort`, except that -0.0 equals +0.0: NaN goes after every number. On a GPU the call waits for
    the number; with ``counted`` it does not wait, and the number is int64[1] on x's device, as
    `compact` has it. Dtypes are as in `sort`.

    Source: Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), section 1.5.
    """
    check_flag(counted=counted)
    given = Arguments(x)
    array = flat(given.take("x", x, ANY, dtypes=DTYPES, empty=True))
    if isinstance(pivot, int | float):
        middle = placed(given, array, _number(pivot, dtype_of(array)))
    else:
        middle = flat(given.take("pivot", pivot, ANY, dtypes=(dtype_of(array),)))
    if middle.shape != (1,):
        raise InputError("pivot", f"{middle.shape[0]} elements", "one")
    if is_empty(array):
        nothing = given.nothing(array, (0,), dtype_of(array), device, out)
        return nothing, given.nothing(array, (1,), "int64", device, None) if counted else 0
    problem = _partition(array.shape[0], dtype_of(array))
    y, less = run_several(given, problem, [array, middle], strategy, device, (out, None))
    if counted:
        return y, less
    number: Any = less
    return y, int(number[0])


def _along(
    x: Array,
    axis: int,
    gives: Any,
    descending: bool,
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    """The elements of each line in order, or their places."""
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    shape, dtype = tuple(array.shape), dtype_of(array)
    along = _axis(axis, len(shape))
    check_flag(descending=descending)
    if is_empty(array):
        made: Any = "int64" if gives == "places" else dtype
        return given.nothing(array, shape, made, device, out)
    problem = _sort(shape, along, dtype, gives, descending=descending)
    return run(given, problem, [array], {}, "ieee", strategy, device, out)


def _axis(axis: Any, rank: int) -> int:
    if type(axis) is not int or not -rank <= axis < rank:
        expected = f"an axis of x, which has {rank}" if rank else "an x with axes"
        raise InputError("axis", repr(axis), expected)
    return axis % rank


def _number(pivot: float, dtype: str) -> AnyArray:
    """A number as an array of one element of a dtype."""
    kind = numpy_dtype(dtype)
    try:
        made: AnyArray = np.array([pivot]).astype(kind)
        if kind.kind in "iub" and int(made[0]) != pivot:
            raise ValueError
    except (ValueError, OverflowError):
        raise InputError("pivot", repr(pivot), f"a number that {dtype} has") from None
    return made


_sort, _partition = remembered(Sort), remembered(Partition)
