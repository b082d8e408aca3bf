"""Calls on arrays of NumPy as methods of compiled code, which `quick.ll` is.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.method import Method, address_of, lies_as_known
from rooftile.devices.cpu.team import SHARES, code, place_of
from rooftile.devices.first_use import once

Quick = Callable[[tuple[Any, ...], Any], Any]
"""``call(arrays, out)`` gives the result, or None where the arrays are not plain or another thread
is in it, as ``quick.ll`` says; an ``out`` of None is made."""
Shapes = Sequence[tuple[int, ...]]

MOST_HELD = 2**19
"""Bytes of arrays and result, up to which a call keeps the GIL."""
_MOST_ARRAYS, _MOST_AXES = 7, 32
_GIL, _PLACES, _BYTES, _SHAPE = 16, 24, 32, 40
"""Where these begin among the words that the text is given."""
_FLOAT32 = np.dtype(np.float32)


class _Python:
    """What the text needs of CPython and NumPy, by address."""

    def __init__(self) -> None:
        self._method = Method(Path(__file__).with_suffix(".ll"))
        interface = _numpys_interface()
        held = address_of(ctypes.pythonapi.Py_IncRef)
        self.words = (id(np.ndarray), id(_FLOAT32), id(None), held, interface[_PY_ARRAY_NEW])
        api = ctypes.pythonapi
        self.gil = address_of(api.PyEval_SaveThread), address_of(api.PyEval_RestoreThread)
        """What gives it back, and what takes it again."""

    def method(self, words: NDArray[np.int64], kept: object) -> Quick:
        """A method whose ``self`` keeps both."""
        return self._method.on(words, kept)


_ARRAY_TYPE, _PY_ARRAY_NEW = 2, 93
"""Numbers of NumPy's type and of a function in its C interface, which no version changes."""


def _numpys_interface() -> list[int]:
    """The addresses in its table, as far as they are needed."""
    numpys: Any = importlib.import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    place = pointer(numpys._ARRAY_API, None)
    return list((ctypes.c_int64 * (_PY_ARRAY_NEW + 1)).from_address(place))


@once
def _python() -> _Python | None:
    """None where objects lie otherwise than in CPython and NumPy 2 for 64 bits."""
    if not lies_as_known():
        return None
    example = np.empty((2, 3), np.float32)
    words = [ctypes.c_int64.from_address(id(example) + at).value for at in (8, 16, 56)]
    shorts = [ctypes.c_int32.from_address(id(example) + at).value for at in (24, 64)]
    expected = [id(np.ndarray), example.ctypes.data, id(_FLOAT32)]
    if words != expected or shorts != [2, example.flags.num]:
        return None
    return _Python() if _numpys_interface()[_ARRAY_TYPE] == id(np.ndarray) else None


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
    python, *given, result = _python(), *shapes
    if python is None or len(given) > _MOST_ARRAYS or len(result) > _MOST_AXES:
        return None
    words = np.zeros(_SHAPE + len(result), np.int64)
    kind, dtype, nothing, held, new = python.words
    team = 0 if threads <= 1 else ctypes.addressof(place_of(threads))
    head = [kind, dtype, len(given), nothing, held, new, _FLOAT32.num, len(result)]
    head += [4 * math.prod(result), *table, *code().places, SHARES * threads, team]
    words[: len(head)] = head
    if long or 4 * sum(map(math.prod, shapes)) > MOST_HELD:
        words[_GIL : _GIL + 2] = python.gil
    words[_PLACES : _PLACES + len(places)] = places
    words[_BYTES : _BYTES + len(given)] = [4 * math.prod(shape) for shape in given]
    words[_SHAPE:] = result
    return python.method(words, kept)
