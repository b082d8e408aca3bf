"""Aligned buffers; a large one is refused where it would not fit into the free memory."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import OutOfMemory

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector."""
_PAGE, _INTO_PAGE = 4096, 1024
"""Bytes of a page, and the offset in a page at which a large array begins. NumPy's arrays begin at
16 bytes. Processors mistake a load for one of what was just stored where the last 12 bits of both
addresses are equal: with an array at 64 bytes, the next loads of an input would wait for the last
stores."""


def free_bytes() -> int:
    """Memory that can be taken without swapping, in bytes (Linux; elsewhere the physical size)."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@cache
def cache_bytes() -> int | None:
    """Bytes of the largest cache that the first core reaches; None where the system is silent."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        with contextlib.suppress(OSError, ValueError):
            sizes.append(1024 * int(path.read_text(encoding="ascii").strip().removesuffix("K")))
    return max(sizes, default=None)


def _reads_headers() -> bool:
    """True if an array's address follows the header of its object, as in NumPy's C API, and an
    object's id is its address, as in CPython."""
    if sys.implementation.name != "cpython":
        return False
    example = np.empty(1)
    found = ctypes.c_void_p.from_address(id(example) + object.__basicsize__).value
    return found == example.ctypes.data and id(example) % 8 == 0


def _of_header(array: NDArray[Any]) -> int:
    return _words[(id(array) + _HEADER) >> 3]


def _of_interface(array: NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


_HEADER = object.__basicsize__
_words = (ctypes.c_int64 * 2**44).from_address(0)
"""All memory of a process, in words of 8 bytes: to look into it takes half as long as to make an
object at an address."""
address = _of_header if _reads_headers() else _of_interface
"""``address(array)`` is an array's address. A call asks for several; NumPy's own way takes 2 us
each."""


def allocate(count: int, what: str = "a buffer") -> NDArray[np.float32]:
    """An uninitialised float32 buffer of ``count`` elements on a 64-byte boundary.

    Raises `OutOfMemory` when it would not fit into the free memory.
    """
    return aligned((count,), np.dtype(np.float32), what)


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    """An uninitialised array on a 64-byte boundary.  Raises `OutOfMemory` as `allocate`."""
    nbytes = math.prod(shape) * dtype.itemsize
    boundary, into = (_PAGE, _INTO_PAGE) if nbytes >= _PAGE else (ALIGNMENT, 0)
    size = nbytes + boundary
    if size > 2**24 and size > free_bytes():
        raise OutOfMemory(size, free_bytes(), what)
    raw = np.empty(size, np.uint8)
    offset = (into - address(raw)) % boundary
    return raw[offset : offset + nbytes].view(dtype).reshape(shape)
