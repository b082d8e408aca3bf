"""The storage of a problem's arrays, for kernels that take it so: see `Problem.stored`."""

from __future__ import annotations

from typing import Any


def item_bytes(problem: Any, name: str) -> int:
    """Bytes of an element of an array; 4 where the problem has no such array."""
    array = problem.array(name)
    return 4 if array is None else int(array.itemsize)


def is_narrow(problem: Any, name: str) -> bool:
    """True if an element of an array has fewer than four bytes."""
    return item_bytes(problem, name) < 4


def is_last(problem: Any, name: str) -> bool:
    """True if the channels of an array are last in memory."""
    array = problem.array(name)
    return array is not None and bool(array.channels_last)
