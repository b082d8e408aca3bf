"""Streams beside a GPU's own, whose copies the host does not wait for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda.compile import cuda_core
from rooftile.devices.cuda.driver import address_of, checked, driver


class CudaStream:
    """Copies and marks in the order in which they are handed over.

    What a copy reads and writes must stay until the stream is known to have passed it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._handle = stream, stream.handle
        self._timed = cuda_core().EventOptions(timing_enabled=True)

    @property
    def address(self) -> int:
        """The driver's name for it, as `CudaDevice.on` takes streams."""
        return int(self._handle)

    def copy_in(self, array: NDArray[Any], buffer: Any, first: int = 0) -> None:
        """Start to copy a contiguous array to device memory, from a byte of that on.

        From pageable memory the driver copies through memory of its own: the call lasts until it
        has read the array.
        """
        to = address_of(buffer) + first
        checked(driver().cuMemcpyAsync(to, array.ctypes.data, array.nbytes, self._handle))

    def copy_out(self, buffer: Any, array: NDArray[Any]) -> None:
        """Start to copy the start of device memory into a contiguous array.

        Into pageable memory the call lasts until the copy is done.
        """
        source = address_of(buffer)
        checked(driver().cuMemcpyAsync(array.ctypes.data, source, array.nbytes, self._handle))

    def mark(self) -> Any:
        """A point in the work handed over so far, whose time the device notes."""
        return self._stream.record(options=self._timed)

    def after(self, mark: Any) -> None:
        """What is handed over from now on waits for a mark of any stream of the device."""
        self._stream.wait(mark)

    def synchronise(self) -> None:
        """Wait until everything handed over is done."""
        self._stream.sync()


def own_stream(device: Any) -> CudaStream:
    """A device's own stream, which its launches go to where nobody lends it another."""
    return CudaStream(cuda_core().Stream.from_handle(device.own_stream))


def is_pinned(array: NDArray[Any]) -> bool:
    """Whether an array lies in page-locked host memory that CUDA knows."""
    cu = driver()
    kind = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    # For memory that it does not know the driver gives an error, newer ones a type of 0.
    error, found = cu.cuPointerGetAttribute(kind, array.ctypes.data)
    return not int(error) and int(found) == int(cu.CUmemorytype.CU_MEMORYTYPE_HOST)


def pinned(device: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array in page-locked host memory, its values undefined."""
    kind = np.dtype(dtype)
    nbytes = math.prod(shape) * kind.itemsize
    memory = device.pinned(max(1, -(-nbytes // 4)))
    array: NDArray[Any] = memory.view(np.uint8)[:nbytes].view(kind)
    return array.reshape(shape)
