"""NumPy's functions of numbers in kernels, as NumPy defines them: integers wrap around.

Both sides of ``numpy.where`` are computed and one is selected, without a jump, so that loops over
such choices become vectors.  ``numpy.fmod`` is for integers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from rooftile.devices.cpu.native.expressions import Expressions
from rooftile.devices.cpu.native.instructions import KernelError
from rooftile.devices.cpu.native.types import (
    BOOL,
    FLOAT,
    INTEGER,
    UNSIGNED,
    UNSIGNED_LONG,
    Function,
    Type,
    Value,
)


def _same(to: Expressions, given: list[Value]) -> tuple[Type, list[Value]]:
    """Numbers in the type in which they meet."""
    of = given[0].type
    for value in given[1:]:
        of = to.common(Value(of, ""), value)
    of = INTEGER if of in (BOOL, UNSIGNED) else of
    return of, [to.convert(value, of) for value in given]


def _arithmetic(integer: str, real: str) -> Function:
    def write(to: Expressions, given: list[Value]) -> Value:
        of, (x, y) = _same(to, given)
        word = real if of.kind == "float" else integer
        if of is UNSIGNED_LONG:
            word = {"srem": "urem"}.get(word, word)
        if not word:
            raise KernelError(f"{integer or real} of a {of.name}")
        return to.made(of, f"{word} {of.llvm} {x.name}, {y.name}")

    return Function(integer or real, write)


def _compared(op: ast.cmpop) -> Function:
    return Function(type(op).__name__, lambda to, given: to.compared(op, *given))


def _logical(word: str) -> Function:
    def write(to: Expressions, given: list[Value]) -> Value:
        x, y = (to.truth(value) for value in given)
        return to.made(BOOL, f"{word} i1 {x.name}, {y.name}")

    return Function(word, write)


def _not(to: Expressions, given: list[Value]) -> Value:
    return to.made(BOOL, f"xor i1 {to.truth(given[0]).name}, true")


def _select(to: Expressions, test: Value, yes: Value, no: Value) -> Value:
    of = yes.type.llvm
    return to.made(yes.type, f"select i1 {test.name}, {of} {yes.name}, {of} {no.name}")


def _where(to: Expressions, given: list[Value]) -> Value:
    _, (yes, no) = _same(to, given[1:])
    return _select(to, to.truth(given[0]), yes, no)


def _extreme(op: ast.cmpop, numbers: bool) -> Function:
    """The least or the greatest: NaN if either is, or with ``numbers`` only if both are."""

    def write(to: Expressions, given: list[Value]) -> Value:
        of, (x, y) = _same(to, given)
        if of.kind != "float":
            return _select(to, to.compared(op, x, y), x, y)
        # y comes first: with x, the choice of x where it is NaN would be a masked store where y is
        # stored over x, and on some processors that takes ten times as long as a whole one.
        name = "max" if isinstance(op, ast.Gt) else "min"
        name += "num" if numbers else "imum"
        return to.intrinsic(f"llvm.{name}.{_size(of)}", of, [y, x], "nsz ")

    return Function(type(op).__name__, write)


def _negative(to: Expressions, given: list[Value]) -> Value:
    of, (x,) = _same(to, given)
    if of.kind == "float":
        return to.made(of, f"fneg {of.llvm} {x.name}")
    return to.made(of, f"sub i64 0, {x.name}")


def _absolute(to: Expressions, given: list[Value]) -> Value:
    of, (x,) = _same(to, given)
    if of.kind == "float":
        return to.intrinsic(f"llvm.fabs.{_size(of)}", of, [x])
    if of is UNSIGNED_LONG:
        return x
    return to.intrinsic("llvm.abs.i64", of, [x, Value(BOOL, "false")])


def _root(to: Expressions, given: list[Value]) -> Value:
    of, (x,) = _same(to, given)
    if of.kind != "float":
        raise KernelError("the root of an integer")
    return to.intrinsic(f"llvm.sqrt.{_size(of)}", of, [x])


def _size(of: Type) -> str:
    return "f32" if of is FLOAT else "f64"


def _invert(to: Expressions, given: list[Value]) -> Value:
    of, (x,) = _same(to, given)
    return to.made(of, f"xor i64 {x.name}, -1")


_Write = Callable[[Expressions, list[Value]], Value]
_PLAIN: dict[Any, _Write] = {
    np.where: _where,
    np.negative: _negative,
    np.positive: lambda to, given: given[0],
    np.absolute: _absolute,
    np.sqrt: _root,
    np.invert: _invert,
    np.logical_not: _not,
}

UFUNCS: dict[Any, Function] = {
    **{function: Function(function.__name__, write) for function, write in _PLAIN.items()},
    np.add: _arithmetic("add", "fadd"),
    np.subtract: _arithmetic("sub", "fsub"),
    np.multiply: _arithmetic("mul", "fmul"),
    np.divide: _arithmetic("", "fdiv"),
    np.fmod: _arithmetic("srem", ""),
    np.bitwise_and: _arithmetic("and", ""),
    np.bitwise_or: _arithmetic("or", ""),
    np.bitwise_xor: _arithmetic("xor", ""),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.equal: _compared(ast.Eq()),
    np.not_equal: _compared(ast.NotEq()),
    np.less: _compared(ast.Lt()),
    np.less_equal: _compared(ast.LtE()),
    np.greater: _compared(ast.Gt()),
    np.greater_equal: _compared(ast.GtE()),
    np.minimum: _extreme(ast.Lt(), numbers=False),
    np.maximum: _extreme(ast.Gt(), numbers=False),
    np.fmin: _extreme(ast.Lt(), numbers=True),
    np.fmax: _extreme(ast.Gt(), numbers=True),
}
"""NumPy's functions that kernels may call."""

__all__ = ["UFUNCS"]
