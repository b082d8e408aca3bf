"""Work beside the present stream's, which joins it again; in a graph, a branch of it."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

from rooftile.devices.cuda.library import call

_WITHOUT_TIMING = 2


class Branch:
    """See `rooftile.devices.gpu.Branch`: a stream of its own."""

    def __init__(self, device: Any) -> None:
        self._device, self._stream, self._open = device, device.stream(), False
        self._event = ctypes.c_void_p()
        call("cuEventCreate", ctypes.byref(self._event), ctypes.c_uint(_WITHOUT_TIMING))

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """See `rooftile.devices.gpu.Branch`."""
        self._after(self._stream.address, self._device.stream_address)
        with self._device.on(self._stream.address):
            yield
        self._open = True

    def join(self) -> None:
        """See `rooftile.devices.gpu.Branch`."""
        if self._open:
            self._after(self._device.stream_address, self._stream.address)
            self._open = False

    def _after(self, later: int, earlier: int) -> None:
        """What a stream is given next waits for what another one has."""
        call("cuEventRecord", self._event, ctypes.c_void_p(earlier))
        call("cuStreamWaitEvent", ctypes.c_void_p(later), self._event, ctypes.c_uint(0))


__all__ = ["Branch"]
