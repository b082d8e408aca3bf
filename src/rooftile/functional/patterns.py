"""Parallel patterns: reduction."""

from __future__ import annotations

from typing import Any

from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.ops.reduce import Reduce
from rooftile.runtime.arguments import ANY, Arguments, Array
from rooftile.runtime.repeats import repeated

_OPERATORS = ("sum",)
_DTYPES: tuple[Any, ...] = ("float32", "uint8")


@repeated("x")
def reduce(
    x: Array,
    operator: str = "sum",
    axis: int | None = None,
    *,
    precision: str = "ieee",
    strategy: str | None = None,
    device: str | None = None,
    out: Array | None = None,
) -> Array:
    """The sum of x, over all of it (``axis`` None) or along its last axis (-1).

    x has any shape.  float32 gives float32; uint8 gives int64, exactly.  The result has x's shape
    without the last axis; over all of x it has no axes.  NaN and infinities propagate.  Every run
    gives the same bits.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 10.
    """
    if operator not in _OPERATORS:
        raise InputError("operator", repr(operator), f"one of {list(_OPERATORS)}")
    given = Arguments(x)
    array = given.take("x", x, ANY, dtypes=_DTYPES)
    rank, last = len(array.shape), axis
    if axis is not None:
        if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
            expected = "None, or an axis of x" if rank else "None: x has no axes"
            raise InputError("axis", repr(axis), expected)
        if axis % rank != rank - 1:
            raise InputError("axis", axis, "None, for all axes, or the last one")
        last = -1
    dtype: Any = getattr(array.dtype, "name", array.dtype)
    problem = _reduce(tuple(array.shape), last, dtype)
    return run(given, problem, [array], {}, precision, strategy, device, out)


_reduce = remembered(Reduce)
