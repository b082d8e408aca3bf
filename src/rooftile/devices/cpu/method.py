"""Methods of CPython's whose code is compiled: the interpreter calls them in some 50 ns, C's own
functions through `ctypes` in 300."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.native import build

_FASTCALL = 0x80
_MEMORY = 16
"""Where an array of NumPy's says where its numbers lie."""


class _Definition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


_definitions: list[_Definition] = []
"""All that were ever made: a method has the address of its own and holds no reference to it."""


class Method:
    """The function of LLVM's text in a file, which has the file's name and is a METH_FASTCALL."""

    def __init__(self, path: Path) -> None:
        text, name = path.read_text("utf-8"), path.stem
        digest = hashlib.sha256(text.encode()).hexdigest()
        (function,) = build.addresses(name, digest, lambda: text, [name])
        self._definition = _Definition(name.encode(), function, _FASTCALL, None)
        _definitions.append(self._definition)
        self._make = ctypes.pythonapi.PyCFunction_NewEx
        self._make.restype = ctypes.py_object
        self._make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]

    def on(self, words: NDArray[np.int64], kept: object) -> Callable[..., Any]:
        """A method whose ``self`` is a tuple that keeps both."""
        made: Callable[..., Any] = self._make(
            ctypes.addressof(self._definition), (words, kept), None
        )
        return made


def address_of(function: Any) -> int:
    """Where a function that `ctypes` knows lies."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def lies_as_known() -> bool:
    """Whether objects lie as in CPython and NumPy 2 for 64 bits."""
    headers = (object.__basicsize__, tuple.__basicsize__)
    if sys.implementation.name != "cpython" or headers != (16, 24) or np.__version__[:2] != "2.":
        return False
    example = np.empty(1, np.int64)
    return ctypes.c_int64.from_address(id(example) + _MEMORY).value == example.ctypes.data
