"""The different elements of an array, or its different parts along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import check_flag, remembered, run, run_several
from rooftile.functional.layout import transpose
from rooftile.ops.checks import is_whole
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.problem import DTYPES
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken, dtype_of, is_empty
from rooftile.runtime.calls.plain import plain


@overload
def unique(
    x: Array,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> Array: ...


@overload
def unique(
    x: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> Any: ...


@plain
def unique(
    x: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> Any:
    """The different elements of x, sorted, as one axis: ``numpy.unique``.

    x has any shape and any dtype.  With ``axis`` it is the different parts of x along that axis, in
    the order of their elements: x's shape, with fewer parts.  What is asked for besides follows in
    a tuple, int64: ``return_index``, where in x (flattened, or along the axis) each one is first;
    ``return_inverse``, for each element of x, in x's shape, or for each part, which one it is;
    ``return_counts``, how often each one is there.

    x is sorted, and of equal neighbours the first is kept; ``strategy`` names a rung of that
    second step.  -0.0 equals +0.0, and a NaN every other NaN, in parts too.  The results are views
    of arrays as long as x.  How long the views are only the data say: on a GPU the call waits for
    that number; of parts it waits for several.

    Source: Bell, Hoberock, "Thrust: A Productivity-Oriented Library for CUDA" (GPU Computing Gems,
    2011).
    """
    asked = {"index": return_index, "inverse": return_inverse, "counts": return_counts}
    check_flag(**{f"return_{name}": flag for name, flag in asked.items()})
    if axis is not None:
        made = _of_parts(x, axis, strategy, device)
    elif any(asked.values()):
        made = with_runs(x, strategy, device)
    else:
        return _values(x, strategy, device)
    wanted = [one for one, flag in zip(made[1:], asked.values(), strict=True) if flag]
    return (made[0], *wanted) if wanted else made[0]


def _values(x: Array, strategy: str | None, device: DeviceName | None) -> Any:
    """The different elements alone: values are sorted."""
    given, array = _taken(x)
    if is_empty(array):
        return given.nothing(array, (0,), dtype_of(array), device, None)
    problem = _sort(array.shape, 0, dtype_of(array))
    ordered: Any = run(given, problem, [array], {}, "ieee", None, device, None)
    again = Arguments(ordered)
    row = again.take("x", ordered, "count", dtypes=DTYPES)
    kept = _unique(row.shape[0], dtype_of(row))
    y, found = run_several(again, kept, [row], strategy, device, (None, None))
    return y[: int(found[0])]


def with_runs(x: Array, strategy: str | None, device: DeviceName | None) -> tuple[Any, ...]:
    """The different elements, their first places, the number of each element, and counts."""
    given, array = _taken(x)
    if is_empty(array):
        nothing = given.nothing(array, (0,), dtype_of(array), device, None)
        places = [given.nothing(array, (0,), "int64", device, None) for _ in range(3)]
        return nothing, places[0], _reshaped(places[1], tuple(_shape(x))), places[2]
    problem = _sort(array.shape, 0, dtype_of(array), "places")
    order: Any = run(given, problem, [array], {}, "ieee", None, device, None)
    held = given.take("order", order, "count", dtypes=("int64",))
    kept = _unique(array.shape[0], dtype_of(array), True)
    made: Any = run_several(given, kept, [array, held], strategy, device, (None,) * 5)
    y, found, index, inverse, counts = made
    number = int(found[0])
    return y[:number], index[:number], _reshaped(inverse, _shape(x)), counts[:number]


def _of_parts(
    x: Array, axis: int, strategy: str | None, device: DeviceName | None
) -> tuple[Any, ...]:
    """The same of x's parts along an axis.

    The different elements of the whole array are numbered in their order.  Neighbouring numbers of
    a part become the digits of one code, as many as its bits hold, and codes are numbered in their
    turn, until one number tells a part.  Numbers have the order of parts all the while.
    """
    shape = _shape(x)
    along = _axis(axis, len(shape))
    count, width = shape[along], math.prod(shape[:along] + shape[along + 1 :])
    given: Any = Arguments(x)
    if count == 0 or width == 0:
        return _of_empty_parts(given, x, shape, along, device)
    others = tuple(one for one in range(len(shape)) if one != along)
    codes: Any = transpose(x, (*others, along), device=device)
    codes = codes.reshape(width, count)
    numbers: Any
    while True:
        different, index, numbers, counts = with_runs(codes, strategy, device)
        if len(numbers) == 1:
            break
        codes = _codes(numbers, len(different))
    whole: Any = x
    return whole[(slice(None),) * along + (index,)], index, numbers.reshape(count), counts


def _codes(numbers: Any, different: int) -> Any:
    """codes[groups, parts] of numbers[elements, parts], which are less than ``different``."""
    width, count = numbers.shape
    most = max(1, different - 1).bit_length()
    together = min(width, (8 * numbers.dtype.itemsize - 2) // most)
    if together < 2:
        got = f"{different} different elements in parts along an axis"
        raise InputError("x", got, f"so few that two numbers of them fit into {numbers.dtype}")
    groups = -(-width // together)
    if groups * together > width:
        # The last element, told again, changes no order.
        numbers = numbers[np.minimum(np.arange(groups * together), width - 1)]
    digits = numbers.reshape(groups, together, count)
    codes = digits[:, 0]
    for place in range(1, together):
        codes = (codes << most) + digits[:, place]
    return codes


def _of_empty_parts(
    given: Arguments[Any],
    x: Any,
    shape: tuple[int, ...],
    along: int,
    device: DeviceName | None,
) -> tuple[Any, ...]:
    """Parts without elements are all equal; and without parts none is different."""
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    count, found = shape[along], min(1, shape[along])
    left = (*shape[:along], found, *shape[along + 1 :])
    made = given.nothing(array, left, dtype_of(array), device, None)
    numbers = [
        given.nothing(array, (size,), "int64", device, None, value)
        for size, value in ((found, 0), (count, 0), (found, count))
    ]
    return made, *numbers


def _taken(x: Array) -> tuple[Arguments[Array], Taken]:
    """x, flattened."""
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=DTYPES, empty=True)
    if isinstance(array, np.ndarray):
        return given, array.reshape(-1)
    return given, replace(array, shape=(math.prod(array.shape),))


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(getattr(x, "shape", ()))


def _reshaped(array: Any, shape: Sequence[int]) -> Any:
    return array.reshape(tuple(shape))


def _axis(axis: Any, rank: int) -> int:
    if not is_whole(axis) or not -rank <= axis < rank:
        expected = f"None, or an axis of x, which has {rank}" if rank else "None: x has no axes"
        raise InputError("axis", repr(axis), expected)
    return axis % rank


_sort, _unique = remembered(Sort), remembered(Unique)
