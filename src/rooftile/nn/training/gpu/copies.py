"""Copies that overlap a device's launches, where it supports them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.streams import CudaStream, pinned
from rooftile.devices.gpu import GpuDevice


class InOrder:
    """Copies of a device that has one queue: the host waits for each, and nobody for a mark."""

    def __init__(self, gpu: GpuDevice) -> None:
        self._gpu = gpu

    def copy_in(self, array: NDArray[Any], buffer: Any) -> None:
        """See `CudaStream.copy_in`."""
        self._gpu.copy_in(array, buffer)

    def copy_out(self, buffer: Any, array: NDArray[Any]) -> None:
        """See `CudaStream.copy_out`."""
        self._gpu.copy_out(buffer, array)

    def mark(self) -> None:
        """See `CudaStream.mark`."""

    def after(self, mark: Any) -> None:
        """See `CudaStream.after`."""

    def synchronise(self) -> None:
        """See `CudaStream.synchronise`."""


def copies_of(gpu: GpuDevice) -> CudaStream | InOrder:
    """The stream of copies to and from a device, which overlap its launches or come between
    them."""
    return gpu.stream() if isinstance(gpu, CudaDevice) else InOrder(gpu)


def host_array(gpu: GpuDevice, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An uninitialised array that overlapped copies need not copy once more."""
    if isinstance(gpu, CudaDevice):
        return pinned(gpu, shape, dtype)
    return np.empty(shape, dtype)
