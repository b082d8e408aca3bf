"""Methods of CPython's whose code is compiled: the interpreter calls them in some 50 ns, C's own
functions through `ctypes` in 300.

They are written in C, in ``quick.c`` and ``replay.c``, on CPython's limited API, and the package
has them as LLVM's texts, so that users need no C compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.cpu.native import build
from rooftile.devices.first_use import once

_FASTCALL = 0x80
_PYTHONS = ((3, 11), (3, 12), (3, 13))
"""Python versions that the methods are tested with."""
_MACHINES = ("x86_64", "aarch64")
"""Processors whose calling conventions the texts follow."""


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
_new_method = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


class Method:
    """The function of LLVM's text in a file, which has the file's name and is a METH_FASTCALL."""

    def __init__(self, path: Path) -> None:
        text, name = path.read_text("utf-8"), path.stem
        digest = hashlib.sha256(text.encode()).hexdigest()
        (function,) = build.addresses(name, digest, lambda: text, [name])
        self._definition = _Definition(name.encode(), function, _FASTCALL, None)
        _definitions.append(self._definition)

    def on(self, fields: ctypes.Structure, kept: object) -> Callable[..., Any]:
        """A method that finds the address of a structure in its ``self``, which keeps both."""
        own = (ctypes.addressof(fields), fields, kept)
        made: Callable[..., Any] = _new_method(ctypes.addressof(self._definition), own, None)
        return made


def address_of(function: Any) -> int:
    """The address of a function that `ctypes` knows."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def why_not_compiled() -> str | None:
    """Why Python's own way serves here in place of compiled methods; None where these do."""
    version = ".".join(map(str, sys.version_info[:2]))
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} has no methods of CPython's"
    if "t" in getattr(sys, "abiflags", ""):
        return f"Python {version} is built without the GIL, which compiled calls rely on"
    if sys.version_info[:2] not in _PYTHONS:
        return f"compiled calls are not tested with Python {version}"
    if object.__basicsize__ != 2 * ctypes.sizeof(ctypes.c_void_p):
        return f"this build of Python {version} has other headers of objects"
    if np.__version__[:2] != "2.":
        return f"compiled calls are not tested with NumPy {np.__version__}"
    if machine() not in _MACHINES or sys.byteorder != "little" or sys.maxsize < 2**62:
        return f"compiled calls are for 64-bit {' and '.join(_MACHINES)}, not for {machine()}"
    return None


def usable() -> bool:
    """True if compiled methods are used; if they are not, a note says so once."""
    reason = why_not_compiled()
    if reason is not None:
        _note(reason)
    return reason is None


@once
def _note(reason: str) -> None:
    if os.environ.get("ROOFTILE_QUIET"):
        return
    # It takes longer to load than most kernels.
    import logging

    logging.getLogger("rooftile").warning(
        "small calls of rooftile take some microseconds longer here: %s; ROOFTILE_QUIET=1 or "
        "logging's level of 'rooftile' leave this line out",
        reason,
    )


def machine() -> str:
    """The processor's family in LLVM's words."""
    if hasattr(os, "uname"):
        name = os.uname().machine
    else:
        import platform

        name = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(name, name)
