"""Element by element: sums and multiples."""

from __future__ import annotations

from typing import Any

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.functional._call import remembered, run
from rooftile.ops.patterns.elementwise import TAKES, Elementwise
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken, dtype_of, is_empty
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.calls.plain import plain
from rooftile.runtime.calls.scalars import beside, number


@repeated("a", "b")
def add(
    a: Array,
    b: Array,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``a + b``, element by element.

    Both have one shape, any, and one dtype, any.  Integers wrap around, and of bool the result is
    whether either is true.  Every device gives NumPy's bits.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 2.
    """
    given = Arguments(a, "a")
    first = given.take("a", a, ANY, dtypes=TAKES["add"], empty=True)
    second = _like(given, "b", b, first, "a")
    return _computed(given, "add", [first, second], None, strategy, device, out)


@plain
def axpy(
    alpha: float,
    x: Array,
    y: Array,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``alpha x + y``, element by element.

    x and y have one shape, any, and one dtype: float32, float64, float16 or bfloat16.  alpha is a
    number, which is rounded to that dtype.  Product and sum are rounded apart: every device gives
    NumPy's bits.

    Source: Lawson et al., "Basic Linear Algebra Subprograms for Fortran Usage", ACM TOMS 5 (1979).
    """
    factor, given = number("alpha", alpha), Arguments(x)
    first = given.take("x", x, ANY, dtypes=TAKES["axpy"], empty=True)
    second = _like(given, "y", y, first, "x")
    return _computed(given, "axpy", [first, second], factor, strategy, device, out)


@plain
def scale(
    alpha: float,
    x: Array,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``alpha x``, element by element.

    x has any shape, float32, float64, float16 or bfloat16; alpha is a number, which is rounded to
    x's dtype.  Every device gives NumPy's bits.

    Source: Lawson et al., "Basic Linear Algebra Subprograms for Fortran Usage", ACM TOMS 5 (1979).
    """
    factor, given = number("alpha", alpha), Arguments(x)
    first = given.take("x", x, ANY, dtypes=TAKES["scale"], empty=True)
    return _computed(given, "scale", [first], factor, strategy, device, out)


def _computed(
    given: Arguments[Array],
    function: Any,
    arrays: list[Taken],
    factor: float | None,
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    """The function of checked arrays, and of a factor if it has one."""
    first = arrays[0]
    shape, dtype = tuple(first.shape), dtype_of(first)
    if is_empty(first):
        return given.nothing(first, shape, dtype, device, out)
    inputs = arrays if factor is None else [*arrays, beside(given, first, factor, dtype)]
    problem = _elementwise(function, shape, dtype)
    return run(given, problem, inputs, {}, "ieee", strategy, device, out)


def _like(given: Arguments[Any], name: str, value: Any, first: Taken, beside_it: str) -> Taken:
    """An array of the first one's dtype and shape.  Raises `InputError` naming the argument."""
    array = given.take(name, value, ANY, dtypes=(dtype_of(first),), empty=True)
    if tuple(array.shape) != tuple(first.shape):
        expected = f"{tuple(first.shape)}, as {beside_it} has it"
        raise InputError(name, f"shape {tuple(array.shape)}", expected)
    return array


_elementwise = remembered(Elementwise)
