"""Memory for what a call writes before it reads it: lent for a call, whatever its shape.

To take fresh memory of the system takes as long as to write it, so what was given back is kept for
the next call: at most `MOST_KEPT` bytes in all, or a single piece of `LARGEST_KEPT`.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile._locks import lock
from rooftile.devices.cpu.memory import aligned

MOST_KEPT = 2**25
"""Bytes that wait in all for other calls; of one piece more than these."""
LARGEST_KEPT = 2**28
_STEPS = 4
"""Sizes of pieces between a power of two and the next one."""
_WASTE = 4
"""A piece serves calls that need as much, or down to so small a part of it."""

_BYTES = np.dtype(np.uint8)
waiting: deque[NDArray[np.uint8]] = deque()
_turn = lock()


@contextlib.contextmanager
def lent(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> Iterator[NDArray[Any]]:
    """An uninitialised array on a 64-byte boundary, until the block ends.

    ``what`` it is for stands in the message of `OutOfMemory`.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    piece = _taken(nbytes)
    if piece is None:
        piece = aligned((_rounded(nbytes),), _BYTES, what)
    try:
        yield piece[:nbytes].view(dtype).reshape(shape)
    finally:
        _give_back(piece)


def kept_bytes() -> int:
    """Bytes that wait for other calls."""
    with _turn:
        return _bytes_waiting()


def _bytes_waiting() -> int:
    return sum(piece.nbytes for piece in waiting)


def _rounded(nbytes: int) -> int:
    """Bytes of a piece: neighbouring lengths need the same."""
    step = max(64, 1 << max(0, nbytes.bit_length() - 1) >> (_STEPS.bit_length() - 1))
    return max(step, -(-nbytes // step) * step)


def _taken(nbytes: int) -> NDArray[np.uint8] | None:
    """The smallest waiting piece of at least ``nbytes``; None where none is."""
    with _turn:
        fit = [piece for piece in waiting if nbytes <= piece.nbytes <= _WASTE * max(nbytes, 64)]
        if not fit:
            return None
        best = min(fit, key=len)
        for place, piece in enumerate(waiting):
            if piece is best:
                del waiting[place]
                break
        return best


def _give_back(piece: NDArray[np.uint8]) -> None:
    """Let a piece wait for the next call; those that have waited longest go."""
    if piece.nbytes > LARGEST_KEPT:
        return
    with _turn:
        waiting.append(piece)
        while len(waiting) > 1 and _bytes_waiting() > MOST_KEPT:
            waiting.popleft()
