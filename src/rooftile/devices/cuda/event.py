"""Points in streams."""

from __future__ import annotations

import ctypes
import weakref

from rooftile.devices.cuda.library import answer, call, library

_TIMED, _WITHOUT_TIMING = 0, 2
"""CU_EVENT_DEFAULT and CU_EVENT_DISABLE_TIMING: a stream passes an event sooner where nobody asks
for its time."""


class Event:
    """A point that moves; streams are given by their addresses."""

    def __init__(self, flags: int = _WITHOUT_TIMING) -> None:
        """In the present context."""
        made = answer("cuEventCreate", ctypes.c_void_p, ctypes.c_uint(flags))
        self._event = ctypes.c_void_p(made)
        # The driver frees an event that is still waited for once that is over.
        weakref.finalize(self, library().cuEventDestroy_v2, self._event).atexit = False

    def record(self, stream: int) -> None:
        """It is behind all that a stream holds."""
        call("cuEventRecord", self._event, ctypes.c_void_p(stream))

    def delay(self, stream: int) -> None:
        """What a stream is given from now on waits for it."""
        call("cuStreamWaitEvent", ctypes.c_void_p(stream), self._event, ctypes.c_uint(0))

    def sync(self) -> None:
        """Wait until the GPU has passed it."""
        call("cuEventSynchronize", self._event)


class Mark(Event):
    """A point in a stream that stays, and whose time the GPU notes."""

    def __init__(self, stream: int) -> None:
        """In the stream's context."""
        super().__init__(_TIMED)
        self.record(stream)

    def since(self, before: Mark) -> float:
        """Milliseconds from another mark to this; the GPU has passed both."""
        found = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(found), before._event, self._event)
        return found.value
