"""Work of several streams that must come one after the other."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from rooftile.devices.cuda.library import call

_WITHOUT_TIMING = 2


class Turns:
    """Inside a block, work goes to the present stream after that of the blocks before."""

    def __init__(self, device: Any) -> None:
        self._device, self._last = device, 0
        self._turn = threading.Lock()
        self._event = ctypes.c_void_p()
        call("cuEventCreate", ctypes.byref(self._event), ctypes.c_uint(_WITHOUT_TIMING))

    def __enter__(self) -> None:
        self.begin(self._device.stream_address)

    def __exit__(self, *raised: object) -> None:
        self.end(self._device.stream_address)

    def begin(self, stream: int) -> None:
        """Begin a block on a stream."""
        self._turn.acquire()
        try:
            if self._last not in (0, stream):
                call("cuStreamWaitEvent", ctypes.c_void_p(stream), self._event, ctypes.c_uint(0))
        except BaseException:
            # Nobody ends a block that did not begin.
            self._turn.release()
            raise

    def end(self, stream: int) -> None:
        """End the block that was begun on a stream."""
        try:
            self._last = stream
            call("cuEventRecord", self._event, ctypes.c_void_p(stream))
        finally:
            self._turn.release()
