"""Functions that kernels call and that are not written in the kernel language.

Numbers: ``min``, ``max``, ``abs``, ``numpy.float32``, ``float64``, ``int64``, ``uint32``,
``uint64``, ``math.erfc``, ``math.exp``, ``math.log``, ``math.log1p``, ``math.sqrt``, ``math.tanh``,
``numpy.empty(count, numpy.float32)`` for a few numbers of a thread's own.  NumPy's functions of
numbers are in `rooftile.devices.cpu.native.ufuncs`, vectors in
`rooftile.devices.cpu.native.vector`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rooftile.devices.cpu.native.expressions import Expressions
from rooftile.devices.cpu.native.types import (
    DOUBLE,
    ELEMENTS,
    FLOAT,
    INTEGER,
    UNSIGNED,
    UNSIGNED_LONG,
    Function,
    Type,
    Value,
)
from rooftile.devices.cpu.native.ufuncs import UFUNCS


def _as(to: Type) -> Function:
    return Function(to.name, lambda at, given: at.convert(given[0], to))


def _extreme(word: str) -> Function:
    """The least or the largest of integers."""

    def write(to: Expressions, given: list[Value]) -> Value:
        found, *others = (to.convert(value, INTEGER) for value in given)
        for other in others:
            found = to.intrinsic(f"llvm.{word}.i64", INTEGER, [found, other])
        return found

    return Function(word, write)


def _root(to: Expressions, given: list[Value]) -> Value:
    """The square root, in the precision of its argument."""
    (value,) = given
    if value.type is not FLOAT:
        value = to.convert(value, DOUBLE)
    size = "f32" if value.type is FLOAT else "f64"
    return to.intrinsic(f"llvm.sqrt.{size}", value.type, [value])


def _of_libm(name: str) -> Function:
    """A function of the C library, in the precision of its argument."""

    def write(to: Expressions, given: list[Value]) -> Value:
        (value,) = given
        if value.type is not FLOAT:
            value = to.convert(value, DOUBLE)
        return to.intrinsic(name + ("f" if value.type is FLOAT else ""), value.type, [value])

    return Function(name, write)


def _empty(to: Expressions, given: list[Value]) -> Value:
    count, of = given
    return to.local(count, ELEMENTS[of.name])


FUNCTIONS: dict[Any, Function] = {
    min: _extreme("smin"),
    max: _extreme("smax"),
    abs: UFUNCS[np.absolute],
    int: _as(INTEGER),
    np.int64: _as(INTEGER),
    np.uint32: _as(UNSIGNED),
    np.uint64: _as(UNSIGNED_LONG),
    np.float32: _as(FLOAT),
    np.float64: _as(DOUBLE),
    math.erfc: _of_libm("erfc"),
    math.exp: _of_libm("exp"),
    math.log: _of_libm("log"),
    math.sqrt: Function("sqrt", _root),
    np.empty: Function("empty", _empty),
    math.log1p: _of_libm("log1p"),
    math.tanh: _of_libm("tanh"),
    **UFUNCS,
}
