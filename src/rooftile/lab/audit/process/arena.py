"""Memory that the judge and the process under audit both map, and where arrays lie in it.

The judge writes inputs and poison there, and reads results, only while the other process is
frozen.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.process.child import seal
from rooftile.lab.judge.exam import as_bytes
from rooftile.ops import AnyArray, Array, Problem

GUARD = 4096
"""Bytes on either side of an output that must stay as they are."""
TEXT_GUARD = 2**17
"""The same of a text's outputs, whose indices go wrong by whole rows and blocks."""
_LINE = 256
"""Alignment of arrays in bytes, as every allocator of a GPU has it."""
_SHIFT = {"cpu": 16, "cuda": 0, "text": 0}
"""A function's arrays on the CPU begin this many bytes beyond a line: NumPy promises no more than
16."""
_MOST_GAP = 8
"""Lines that may lie between one array and the next."""
_LARGE_PAGE = 2 * 2**20
"""Bytes of a page that a GPU's memory is shared by."""
_HANDLE_BYTES = 64
"""CU_IPC_HANDLE_SIZE."""


class Arena(Protocol):
    """Shared memory; offsets are in bytes."""

    fd: int
    """The file that both processes map; -1 where the memory is a GPU's."""

    def put(self, offset: int, values: AnyArray) -> None:
        """Copy values in."""

    def get(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        """A copy of what is there."""

    def close(self) -> None:
        """Give it back."""


class HostArena:
    """Anonymous memory of the system, by a file descriptor that the child inherits."""

    def __init__(self, nbytes: int) -> None:
        self.fd = os.memfd_create("rooftile-audit", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, nbytes)
        seal(self.fd)
        self._map = mmap.mmap(self.fd, nbytes)
        self._bytes: NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)

    def put(self, offset: int, values: AnyArray) -> None:
        """See `Arena.put`."""
        self._bytes[offset : offset + values.nbytes] = as_bytes(values)

    def get(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Arena.get`."""
        return self._bytes[offset : offset + nbytes].copy()

    def close(self) -> None:
        """See `Arena.close`."""
        del self._bytes
        self._map.close()
        os.close(self.fd)


class CudaArena:
    """Memory of a GPU; the child opens it by its inter-process handle."""

    fd = -1

    def __init__(self, nbytes: int, device: Any) -> None:
        from rooftile.devices.cuda.driver import call

        self._device = device
        # The handle shares whole large pages, so the arena takes whole ones.
        self._memory = device.allocate_alone(-(-nbytes // _LARGE_PAGE) * _LARGE_PAGE)
        self._base = int(self._memory.handle)
        handle = (ctypes.c_ubyte * _HANDLE_BYTES)()
        call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(self._base))
        self.handle = bytes(handle)

    def put(self, offset: int, values: AnyArray) -> None:
        """See `Arena.put`."""
        self._device.copy_in(np.ascontiguousarray(values), self._base + offset)

    def get(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Arena.get`."""
        found: NDArray[np.uint8] = np.empty(nbytes, np.uint8)
        self._device.copy_out(self._base + offset, found)
        return found

    def close(self) -> None:
        """See `Arena.close`."""
        del self._memory


@dataclass(frozen=True)
class Place:
    """The place of an array."""

    offset: int
    array: Array

    @property
    def told(self) -> tuple[int, tuple[int, ...], str]:
        """The description for the process under audit: offset, shape, dtype."""
        return self.offset, self.array.shape, self.array.dtype


@dataclass(frozen=True)
class Slot:
    """The places of one set of a problem's arrays."""

    given: tuple[Place, ...]
    """Inputs and parameters."""
    outs: tuple[Place, ...]


def guard_of(kind: str) -> int:
    """Bytes on either side of an output, of a function (``cpu``, ``cuda``) or of a ``text``."""
    return TEXT_GUARD if kind == "text" else GUARD


def layout(
    problem: Problem, slots: int, kind: str, generator: np.random.Generator | None = None
) -> tuple[list[Slot], int]:
    """A number of slots for a problem on a kind of device, and the most bytes that they take.

    With a ``generator`` arrays lie at places that are drawn: in another order of slots, and with
    gaps between them.
    """
    made, end, guard = [], 0, guard_of(kind)

    def place(array: Array, around: int) -> Place:
        nonlocal end
        gap = _MOST_GAP if generator is None else int(generator.integers(_MOST_GAP + 1))
        start = (-(-(end + around) // _LINE) + gap) * _LINE + _SHIFT[kind]
        end = start + array.nbytes + around
        return Place(start, array)

    for _ in range(slots):
        given = tuple(place(array, 0) for array in problem.given_arrays)
        made.append(Slot(given, tuple(place(array, guard) for array in problem.output_arrays)))
    if generator is not None:
        generator.shuffle(made)
    return made, end
