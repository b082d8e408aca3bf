"""Calls on arrays of NumPy as methods of compiled code, which ``quick.c`` is.

The interpreter takes longer to look at an array, to make the result and to call C than a small
kernel takes to compute.  A method that is compiled does all of it in a fraction of that.  It holds
the GIL for calls of microseconds, as NumPy does, and gives it back meanwhile in longer ones.
"""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rooftile.devices.cpu.method import Method, usable
from rooftile.devices.cpu.team import SHARES, code, place_of
from rooftile.devices.first_use import once

Quick = Callable[[tuple[Any, ...], Any], Any]
"""``call(arrays, out)`` gives the result, or None where the arrays are not plain or another thread
is in it, as ``quick.c`` says; an ``out`` of None is made."""
Shapes = Sequence[tuple[int, ...]]

MOST_HELD = 2**19
"""Bytes of arrays and result, up to which a call keeps the GIL."""
_MOST_ARRAYS, _MOST_AXES = 8, 32
_FLOAT32 = np.dtype(np.float32)


class Call(ctypes.Structure):
    """``struct call`` of ``quick.c``."""

    _fields_ = (
        ("numpy", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("dtype_number", ctypes.c_int64),
        ("given", ctypes.c_int64),
        ("axes", ctypes.c_int64),
        ("shape", ctypes.c_int64 * _MOST_AXES),
        ("bytes", ctypes.c_int64 * _MOST_ARRAYS),
        ("places", ctypes.c_int64 * _MOST_ARRAYS),
        ("table", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("alone", ctypes.c_void_p),
        ("spread", ctypes.c_void_p),
        ("shares", ctypes.c_int64),
        ("team", ctypes.c_void_p),
        ("frees_gil", ctypes.c_int64),
        ("computing", ctypes.c_int64),
    )


class _Compiled(NamedTuple):
    method: Method
    numpy: int
    """The address of NumPy's C API."""


@once
def compiled_method() -> _Compiled | None:
    """None where no compiled methods serve."""
    return _Compiled(Method(Path(__file__).with_suffix(".ll")), _numpys_api()) if usable() else None


def _numpys_api() -> int:
    numpys: Any = importlib.import_module("numpy._core._multiarray_umath")
    # A function of our own: other packages may set argument types of `ctypes.pythonapi`'s.
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = kind(("PyCapsule_GetPointer", ctypes.pythonapi))
    return int(pointer(numpys._ARRAY_API, None))


def quick_call(
    table: Sequence[int],
    threads: int,
    shapes: Shapes,
    places: Sequence[int],
    kept: object,
    long: bool = False,
) -> Quick | None:
    """A method for float32 arrays of these shapes, the result's last; None where there is none.

    ``table`` is the address, the rows and the width of what `Work` runs, ``places`` are the words
    in it that are the arrays' addresses, and ``kept`` lives as long as the method.  A ``long`` call
    gives the GIL back, whatever the arrays' size.
    """
    compiled, result = compiled_method(), shapes[-1]
    if compiled is None or len(shapes) > _MOST_ARRAYS or len(result) > _MOST_AXES:
        return None
    sizes = [4 * math.prod(shape) for shape in shapes]
    alone, spread = code().places
    made = Call(
        numpy=compiled.numpy,
        dtype=id(_FLOAT32),
        dtype_number=_FLOAT32.num,
        given=len(shapes) - 1,
        axes=len(result),
        shape=tuple(result),
        bytes=tuple(sizes),
        places=tuple(places),
        table=table[0],
        rows=table[1],
        width=table[2],
        alone=alone,
        spread=spread,
        shares=SHARES * threads,
        team=ctypes.addressof(place_of(threads)) if threads > 1 else None,
        frees_gil=long or sum(sizes) > MOST_HELD,
    )
    return compiled.method.on(made, kept)
