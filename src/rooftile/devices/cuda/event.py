"""A point in one stream that others wait for."""

from __future__ import annotations

import ctypes

from rooftile.devices.cuda.library import call

_WITHOUT_TIMING = 2
"""CU_EVENT_DISABLE_TIMING: a stream passes an event sooner where nobody asks for its time."""


class Event:
    """A point that moves; streams are given by their addresses."""

    def __init__(self) -> None:
        """In the present context."""
        self._event = ctypes.c_void_p()
        call("cuEventCreate", ctypes.byref(self._event), ctypes.c_uint(_WITHOUT_TIMING))

    def record(self, stream: int) -> None:
        """It is behind all that a stream holds."""
        call("cuEventRecord", self._event, ctypes.c_void_p(stream))

    def delay(self, stream: int) -> None:
        """What a stream is given from now on waits for it."""
        call("cuStreamWaitEvent", ctypes.c_void_p(stream), self._event, ctypes.c_uint(0))
