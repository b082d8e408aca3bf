"""Work that goes on beside the present stream's, in a graph that is being captured or outside."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

from rooftile.devices.cuda.library import call

_WITHOUT_TIMING = 2


class CudaBranch:
    """See `rooftile.devices.gpu.Branch`: a stream, which a capture of the present one takes in."""

    def __init__(self, device: Any, stream: Any) -> None:
        self._device, self._stream = device, stream
        self._forked, self._joined = _event(), _event()
        self._open = False

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """See `Branch.aside`."""
        own = int(self._stream.handle)
        _follow(own, self._forked, self._device.stream_address)
        self._open = True
        with self._device.on(own):
            yield

    def join(self) -> None:
        """See `Branch.join`."""
        if self._open:
            _follow(self._device.stream_address, self._joined, int(self._stream.handle))
        self._open = False


def _event() -> ctypes.c_void_p:
    event = ctypes.c_void_p()
    call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(_WITHOUT_TIMING))
    return event


def _follow(later: int, event: ctypes.c_void_p, earlier: int) -> None:
    """What one stream is given from now on waits for what another holds."""
    call("cuEventRecord", event, ctypes.c_void_p(earlier))
    call("cuStreamWaitEvent", ctypes.c_void_p(later), event, ctypes.c_uint(0))
