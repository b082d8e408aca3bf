"""Points in streams."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from rooftile.devices.cuda.driver import answer, call, check, library

_TIMED, _WITHOUT_TIMING = 0, 2
"""CU_EVENT_DEFAULT and CU_EVENT_DISABLE_TIMING: a stream passes an event sooner where its time is
not asked for."""


class _Functions(NamedTuple):
    """Of the driver, which take Python's integers: to make others takes as long as a call."""

    record: Callable[..., int]
    delay: Callable[..., int]


@cache
def _functions() -> _Functions:
    record, delay = library()["cuEventRecord"], library()["cuStreamWaitEvent"]
    record.argtypes = ctypes.c_void_p, ctypes.c_void_p
    delay.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint
    return _Functions(record, delay)


class Event:
    """A point that moves; streams are given by their addresses."""

    def __init__(self, flags: int = _WITHOUT_TIMING) -> None:
        """In the present context."""
        self._event: int = answer("cuEventCreate", ctypes.c_void_p, ctypes.c_uint(flags))
        self._functions = _functions()
        # The driver frees an event that is still waited for once that is over.
        destroy, event = library().cuEventDestroy_v2, ctypes.c_void_p(self._event)
        weakref.finalize(self, destroy, event).atexit = False

    def record(self, stream: int) -> None:
        """It is after all work of a stream."""
        check(self._functions.record(self._event, stream))

    def delay(self, stream: int) -> None:
        """Let a stream's later work wait for the event."""
        check(self._functions.delay(stream, self._event, 0))

    def sync(self) -> None:
        """Wait until the GPU has passed it."""
        call("cuEventSynchronize", ctypes.c_void_p(self._event))


class Mark(Event):
    """A point in a stream that stays, and whose time the GPU notes."""

    def __init__(self, stream: int) -> None:
        """In the stream's context."""
        super().__init__(_TIMED)
        self.record(stream)

    def since(self, before: Mark) -> float:
        """Milliseconds from another mark to this; the GPU has passed both."""
        found = ctypes.c_float()
        events = ctypes.c_void_p(before._event), ctypes.c_void_p(self._event)
        call("cuEventElapsedTime", ctypes.byref(found), *events)
        return found.value
