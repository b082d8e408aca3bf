"""Memory for results on the CPU.

The system gives a large piece of memory as zeros, page by page as it is written, which takes as
long as many a kernel. So the memory of a large result waits for the next one of about its size,
once the result is released; some of it may wait, until other sizes come or memory is short.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.errors import OutOfMemory
from rooftile.ops import AnyArray
from rooftile.ops.problem import Array

_SMALL_BYTES = 2**16
"""To align a smaller result would take longer than to compute it."""
_LARGE_BYTES = 2**20
"""From here on memory is kept."""
MOST_WAITING, LARGEST_WAITING = 2**26, 2**27
"""Bytes that wait in all; of a single result more than these."""
waiting_results: dict[int, deque[NDArray[Any]]] = {}
"""By their size, of which there are eight between a power of two and the next one. Arrays end in
any thread, at any time: nothing here needs a lock."""


def new_result(result: Array) -> AnyArray:
    """An array for a result, aligned where that pays.  Raises `OutOfMemory`."""
    if result.nbytes < _SMALL_BYTES:
        return np.empty(result.shape, result.numpy)
    if result.nbytes < _LARGE_BYTES:
        return cpu.aligned(result.shape, result.numpy, "the result")
    memory = _taken(_rounded(result.nbytes))
    held = np.asarray(_Lent(memory))[: result.nbytes]
    return held.view(result.numpy).reshape(result.shape)


def _rounded(size: int) -> int:
    """Bytes that results of neighbouring sizes share."""
    step = 1 << (size.bit_length() - 4)
    return -(-size // step) * step


class _Lent:
    """Memory under an array, and under all views of it: when the last is gone, so is this."""

    def __init__(self, memory: NDArray[Any]) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        size = self._memory.nbytes
        waiting = sum(one * len(several) for one, several in list(waiting_results.items()))
        if waiting + size > MOST_WAITING:
            waiting_results.clear()
        if size <= LARGEST_WAITING:
            waiting_results.setdefault(size, deque()).append(self._memory)


def _taken(size: int) -> NDArray[Any]:
    """``size`` unused bytes."""
    try:
        return waiting_results[size].pop()
    except (KeyError, IndexError):
        pass
    try:
        return cpu.aligned((size,), np.dtype(np.uint8), "the result")
    except OutOfMemory:
        waiting_results.clear()
        return cpu.aligned((size,), np.dtype(np.uint8), "the result")
