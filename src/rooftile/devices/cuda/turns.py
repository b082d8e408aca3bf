"""Work of several streams that must come one after the other."""

from __future__ import annotations

import threading
from typing import Any

from rooftile.devices.cuda.event import Event


class Turns:
    """Inside a block, work goes to the present stream after that of the blocks before."""

    def __init__(self, device: Any) -> None:
        self._device, self._last = device, 0
        self._turn = threading.Lock()
        self._ended = Event()

    def __enter__(self) -> None:
        self.begin(self._device.stream_address)

    def __exit__(self, *raised: object) -> None:
        self.end(self._device.stream_address)

    def begin(self, stream: int) -> None:
        """Begin a block on a stream."""
        self._turn.acquire()
        try:
            if self._last not in (0, stream):
                self._ended.delay(stream)
        except BaseException:
            # Nobody ends a block that did not begin.
            self._turn.release()
            raise

    def end(self, stream: int) -> None:
        """End the block that was begun on a stream."""
        try:
            self._last = stream
            self._ended.record(stream)
        finally:
            self._turn.release()
