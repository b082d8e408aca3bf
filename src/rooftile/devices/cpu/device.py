"""The host's processor with the interface of `rooftile.devices.device`."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cpu.memory import aligned, cache_bytes
from rooftile.devices.cpu.parallel import cores


class CpuDevice:
    """A number of the host's threads; its memory is NumPy arrays."""

    name = kind = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        """``threads`` None means one for each core that the process may use."""
        self._threads = threads

    @property
    def threads(self) -> int:
        """Number of threads that strategies use."""
        return self._threads or cores()

    @property
    def cache_bytes(self) -> int | None:
        return cache_bytes()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """See `Device.empty`; on a 64-byte boundary."""
        return aligned(shape, dtype, "an array")

    def upload(self, array: NDArray[Any]) -> NDArray[Any]:
        copy = self.empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    def copy_in(self, array: NDArray[Any], buffer: NDArray[Any]) -> None:
        buffer.reshape(-1)[: array.size] = array.reshape(-1)

    def copy_out(self, buffer: NDArray[Any], array: NDArray[Any]) -> None:
        array.reshape(-1)[:] = buffer.reshape(-1)[: array.size]

    def synchronise(self) -> None:
        """See `Device.synchronise`: calls return when they are done."""

    def on(self, stream: Any = None) -> contextlib.AbstractContextManager[None]:
        """See `Device.on`: there are no streams."""
        return contextlib.nullcontext()


@cache
def open_device(threads: int | None = None) -> CpuDevice:
    """The host with this many threads; None means one for each core."""
    return CpuDevice(threads)
