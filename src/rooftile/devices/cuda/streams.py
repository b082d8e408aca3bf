"""A GPU's additional streams, whose copies the host does not wait for."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.contexts import address_of
from rooftile.devices.cuda.driver import call, check, library
from rooftile.devices.cuda.event import Event, Mark
from rooftile.devices.cuda.graph import Stream

_MEMORY_TYPE, _HOST = 2, 1
"""CU_POINTER_ATTRIBUTE_MEMORY_TYPE, and what it is of page-locked memory."""


class CudaStream:
    """Copies and marks in the order in which they are handed over.

    What a copy reads and writes must stay until the stream is known to have passed it.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._on = ctypes.c_void_p(stream.address)
        # Its arguments are Python's integers: to make others takes as long as the call.
        self._start = library()["cuMemcpyAsync"]
        self._start.argtypes = ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p

    @property
    def address(self) -> int:
        """The driver's name for it, as `CudaDevice.on` takes streams."""
        return self._stream.address

    def copy_in(self, array: NDArray[Any], buffer: Any, first: int = 0) -> None:
        """Start to copy a contiguous array to device memory, from a byte of that on. From pageable
        memory the driver copies through memory of its own: the call lasts until it has read the
        array."""
        to, source = address_of(buffer) + first, array.ctypes.data
        check(self._start(to, source, array.nbytes, self._on))

    def copy_out(self, buffer: Any, array: NDArray[Any]) -> None:
        """Start to copy the start of device memory into a contiguous array. Into pageable memory
        the call lasts until the copy is done."""
        to, source = array.ctypes.data, address_of(buffer)
        check(self._start(to, source, array.nbytes, self._on))

    def mark(self) -> Mark:
        """A point in the work handed over so far, whose time the device notes."""
        return Mark(self.address)

    def after(self, mark: Event) -> None:
        """Let later work wait for an event of any stream of the device."""
        mark.delay(self.address)

    def synchronise(self) -> None:
        """Wait until everything handed over is done."""
        call("cuStreamSynchronize", self._on)


def is_pinned(array: NDArray[Any]) -> bool:
    """True if an array is in page-locked host memory that CUDA knows."""
    found, place = ctypes.c_uint(), ctypes.c_uint64(array.ctypes.data)
    # For memory that it does not know the driver gives an error, newer ones a type of 0.
    error = library().cuPointerGetAttribute(ctypes.byref(found), _MEMORY_TYPE, place)
    return not error and found.value == _HOST


def own_stream(device: Any) -> CudaStream:
    """A device's own stream, which its launches go to where none is lent."""
    return CudaStream(device.own)


def pinned(device: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array in page-locked host memory, its values undefined."""
    kind = np.dtype(dtype)
    nbytes = math.prod(shape) * kind.itemsize
    memory = device.pinned(max(1, -(-nbytes // 4)))
    array: NDArray[Any] = memory.view(np.uint8)[:nbytes].view(kind)
    return array.reshape(shape)
