"""A second stream's work that runs concurrently with the present stream's, in a captured graph or
outside."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from rooftile.devices.cuda.event import Event
from rooftile.devices.cuda.graph import Stream


class CudaBranch:
    """See `rooftile.devices.gpu.Branch`: a stream, which a capture of the present one takes in."""

    concurrent = True

    def __init__(self, device: Any, stream: Stream) -> None:
        self._device, self._stream = device, stream
        self._forked, self._joined = Event(), Event()
        self._points = defaultdict[int, Event](Event)
        self._open = False

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        own = self._stream.address
        self._forked.record(self._device.stream_address)
        self._forked.delay(own)
        self._open = True
        with self._device.on(own):
            yield

    def join(self) -> None:
        if self._open:
            self._joined.record(self._stream.address)
            self._joined.delay(self._device.stream_address)
        self._open = False

    def mark(self, number: int) -> None:
        self._points[number].record(self._stream.address)

    def wait(self, number: int) -> None:
        self._points[number].delay(self._device.stream_address)
