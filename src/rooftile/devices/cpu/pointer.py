"""Addresses as arrays, inside compiled code."""

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
_to_integers = _pointer(types.int64)


@njit
def floats(address, count):  # type: ignore[no-untyped-def]
    """``count`` float32 at ``address`` as a flat array."""
    return _array(_to_floats(address), count)


@njit
def integers(address, count):  # type: ignore[no-untyped-def]
    """``count`` int64 at ``address`` as a flat array."""
    return _array(_to_integers(address), count)
