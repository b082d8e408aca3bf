"""Addresses as arrays and as functions, inside compiled code."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_array: Any = numba.carray  # type: ignore[attr-defined]


def _pointer(element: Any) -> Any:
    @intrinsic
    def convert(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.intp), generate

    return convert


_to_floats = _pointer(types.float32)
_to_doubles = _pointer(types.float64)
_to_integers = _pointer(types.int64)
_to_words = _pointer(types.int32)
_to_halves = _pointer(types.uint16)
_to_octets = _pointer(types.uint8)


@njit
def floats(address, count):  # type: ignore[no-untyped-def]
    """``count`` float32 at ``address`` as a flat array."""
    return _array(_to_floats(address), count)


@njit
def integers(address, count):  # type: ignore[no-untyped-def]
    """``count`` int64 at ``address`` as a flat array."""
    return _array(_to_integers(address), count)


@njit
def doubles(address, count):  # type: ignore[no-untyped-def]
    """``count`` float64 at ``address`` as a flat array."""
    return _array(_to_doubles(address), count)


@njit
def words(address, count):  # type: ignore[no-untyped-def]
    """``count`` int32 at ``address`` as a flat array."""
    return _array(_to_words(address), count)


@njit
def halves(address, count):  # type: ignore[no-untyped-def]
    """``count`` uint16 at ``address`` as a flat array."""
    return _array(_to_halves(address), count)


@njit
def octets(address, count):  # type: ignore[no-untyped-def]
    """``count`` uint8 at ``address`` as a flat array."""
    return _array(_to_octets(address), count)


@intrinsic
def call(context, entry, row, thread, begin, end):  # type: ignore[no-untyped-def]
    """Call the function at the address ``entry`` with the four int64 that follow."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, *given = arguments
        function = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        builder.call(builder.inttoptr(address, function.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate
