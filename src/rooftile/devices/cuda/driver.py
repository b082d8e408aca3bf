"""CUDA's driver library through `ctypes`.

NVIDIA's bindings convert each argument anew, which takes longer than a small launch, and their
import takes longer than all else before a process's first result; here arguments are made once, or
by the caller.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

LEGACY_STREAM = 1
"""CU_STREAM_LEGACY: the address of CUDA's default stream where it must have one."""
RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED: other threads may allocate while launches are being captured."""


@cache
def library() -> Any:
    """The driver's library.  Raises `OSError` where there is none."""
    return ctypes.CDLL("libcuda.so.1")


@cache
def _brief() -> Any:
    """The same for questions that are answered at once: Python's lock is not given away."""
    return ctypes.PyDLL("libcuda.so.1")


def check(code: int) -> None:
    """Raise `RuntimeError` for an error of the driver, which is a fault of ours."""
    if code:
        raise RuntimeError(f"CUDA driver call failed: {name_of(code)}")


def name_of(code: int) -> str:
    """The driver's name of an error, such as CUDA_ERROR_OUT_OF_MEMORY."""
    name = ctypes.c_char_p()
    library().cuGetErrorName(code, ctypes.byref(name))
    return (name.value or b"error %d" % code).decode()


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver with arguments of `ctypes`, or integers of 32 bits.

    Raises `RuntimeError`.
    """
    check(getattr(library(), name)(*arguments))


def answer(name: str, kind: type[Any], *arguments: Any) -> Any:
    """The value that a function writes to its first argument, of a type of `ctypes`; see `call`."""
    found = kind()
    call(name, ctypes.byref(found), *arguments)
    return found.value


def current_context() -> int:
    """The calling thread's context; 0 where it has none."""
    ask, reference, context = _places().asked
    # Before the driver is initialised there is no context, and the call gives an error.
    ask(reference)
    return context.value or 0


class _Places(threading.local):
    """Memory for the driver's answers, of each thread."""

    def __init__(self) -> None:
        context, self.capturing = ctypes.c_void_p(), ctypes.c_int()
        # One look-up: thread-local attributes take longest.
        self.asked = _brief().cuCtxGetCurrent, ctypes.byref(context), context
        self.capturing_address = ctypes.addressof(self.capturing)
        self.ask_capturing = _brief()["cuStreamIsCapturing"]
        # So a stream's address is Python's integer: to make another costs as much as to ask.
        self.ask_capturing.argtypes = ctypes.c_void_p, ctypes.c_void_p


@cache
def _places() -> _Places:
    return _Places()


def set_context(context: int) -> None:
    """Make a context the calling thread's; 0 leaves it without one."""
    call("cuCtxSetCurrent", ctypes.c_void_p(context))


@contextlib.contextmanager
def while_capturing() -> Iterator[None]:
    """Inside, this thread may do what a capture forbids, its own or another thread's."""
    mode = ctypes.c_int(RELAXED)
    call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


def is_capturing(stream: int) -> bool:
    """True if a stream is being captured into a graph."""
    if stream == LEGACY_STREAM:
        # The driver never captures it, and takes as long to say so as to launch a graph.
        return False
    places = _places()
    code = places.ask_capturing(stream, places.capturing_address)
    return not code and places.capturing.value != 0
