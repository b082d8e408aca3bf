"""Memory that the judge and the process under audit both map, and where arrays lie in it.

The judge writes inputs and poison there, and reads results, only while the other process is
frozen.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.ops import Float32, Problem

POISON = 0x7FC0DEAD
"""The bits of a NaN that no arithmetic makes: an element that holds it was not written."""
HEAP_POISON = 0x7FC0BEEF
"""The same for memory that a kernel allocates; `worker` leaves it there."""
GUARD = 1024
"""float32 on either side of an output that must stay as they are."""
_SHIFT = {"cpu": 4, "cuda": 64}
"""float32: arrays lie 16 bytes off a round address on the CPU, as NumPy promises no more; on
GPUs every allocator gives 256."""
_LARGE_PAGE = 2 * 2**20


class Arena(Protocol):
    """Shared memory; offsets are in bytes, arrays float32."""

    fd: int
    """A file that both map; -1 where it is the memory of a GPU."""

    def put(self, offset: int, values: NDArray[Any]) -> None:
        """Copy values in."""

    def get(self, offset: int, count: int) -> Float32:
        """A copy of what is there."""

    def close(self) -> None:
        """Give it back."""


class HostArena:
    """Anonymous memory of the system, by a file descriptor that the child inherits."""

    def __init__(self, nbytes: int) -> None:
        self.fd = os.memfd_create("rooftile-audit")
        os.ftruncate(self.fd, nbytes)
        self._map = mmap.mmap(self.fd, nbytes)
        self._floats: Float32 = np.frombuffer(self._map, np.float32)

    def put(self, offset: int, values: NDArray[Any]) -> None:
        """See `Arena.put`."""
        self._floats[offset // 4 : offset // 4 + values.size] = values.reshape(-1).view(np.float32)

    def get(self, offset: int, count: int) -> Float32:
        """See `Arena.get`."""
        return self._floats[offset // 4 : offset // 4 + count].copy()

    def close(self) -> None:
        """See `Arena.close`."""
        del self._floats
        self._map.close()
        os.close(self.fd)


class CudaArena:
    """Memory of a GPU; the child opens it by its inter-process handle."""

    fd = -1

    def __init__(self, nbytes: int, device: Any) -> None:
        from rooftile.devices.cuda.driver import driver_call

        self._call, self._device = driver_call, device
        # Whole large pages: the handle shares all of them.
        self._base = int(device.allocate_synchronously(-(-nbytes // _LARGE_PAGE) * _LARGE_PAGE))
        self.handle = bytes(driver_call("cuIpcGetMemHandle", self._base).reserved)

    def put(self, offset: int, values: NDArray[Any]) -> None:
        """See `Arena.put`."""
        self._device.copy_in(np.ascontiguousarray(values), self._base + offset)

    def get(self, offset: int, count: int) -> Float32:
        """See `Arena.get`."""
        found: Float32 = np.empty(count, np.float32)
        self._device.copy_out(self._base + offset, found)
        return found

    def close(self) -> None:
        """See `Arena.close`."""
        self._call("cuMemFree", self._base)


@dataclass(frozen=True)
class Slot:
    """Where one set of a problem's arrays lies: offsets in bytes with their shapes."""

    inputs: tuple[tuple[int, tuple[int, ...]], ...]
    out: tuple[int, tuple[int, ...]]


def layout(problem: Problem, slots: int, kind: str) -> tuple[list[Slot], int]:
    """So many slots for a problem on a kind of device, and the bytes they take."""
    shapes = [problem.input_shape, *problem.parameter_shapes.values()]
    made, at = [], 0

    def place(shape: Sequence[int], guard: int) -> tuple[int, tuple[int, ...]]:
        nonlocal at
        start = at + guard + _SHIFT[kind]
        at = start + -(-math.prod(shape) // 64) * 64 + guard + 64 - _SHIFT[kind]
        return 4 * start, tuple(shape)

    for _ in range(slots):
        inputs = tuple(place(shape, 0) for shape in shapes)
        made.append(Slot(inputs, place(problem.output_shape, GUARD)))
    return made, 4 * at
