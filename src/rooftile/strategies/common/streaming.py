"""Streaming stores on the CPU: when they pay, and where the first one may begin."""

from __future__ import annotations

from rooftile.devices import cpu
from rooftile.ops import AnyArray

_LINE = 64
"""Bytes of a cache's line."""
_NO_CACHE_KNOWN = 2**25


def pays(nbytes: int) -> bool:
    """True if ``nbytes`` bytes, read and written, outgrow the cache."""
    return nbytes > (cpu.open_device().cache_bytes or _NO_CACHE_KNOWN)


def lead_of(array: AnyArray) -> int:
    """Elements of a contiguous array before its first line's boundary."""
    return -cpu.address(array) % _LINE // array.itemsize
