"""The interface of every kind of device: memory, copies, an order of work."""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Memory = Any
"""A device's handle of an array: NumPy's on the CPU, a buffer or an address on GPUs."""


class Device(Protocol):
    """A processor with memory of its own, or the host's."""

    @property
    def name(self) -> str:
        """As callers name it: ``cpu``, ``cuda:0``, ``opencl:1``."""

    @property
    def kind(self) -> str:
        """``cpu``, ``cuda`` or ``opencl``."""

    @property
    def cache_bytes(self) -> int | None:
        """Size of the last-level cache; None where it is not known."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
        """Memory for an array, its values undefined.  Raises `OutOfMemory`."""

    def upload(self, array: NDArray[Any]) -> Memory:
        """Memory holding a copy of a contiguous array."""

    def copy_in(self, array: NDArray[Any], buffer: Memory) -> None:
        """Copy a contiguous array to the start of a buffer."""

    def copy_out(self, buffer: Memory, array: NDArray[Any]) -> None:
        """Copy the start of a buffer into a contiguous array; waits for work before it."""

    def synchronise(self) -> None:
        """Wait until everything started is done."""

    def on(self, stream: Any = None) -> contextlib.AbstractContextManager[None]:
        """In this thread, work on a caller's stream; None stands for the device's own."""
