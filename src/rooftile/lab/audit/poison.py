"""Poison in outputs before a call, and its detection afterwards.

A number is poisoned with a NaN that no arithmetic makes, and sometimes with a number. An integer is
poisoned with random bits. All are others in each run, so that nobody knows them, and two runs show
the elements that were not written. A result may equal its own poison by chance; more of it than
chance allows was not written.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.ops import AnyArray, Array
from rooftile.ops.problem import ordinary

HEAP = 0x7FC0BEEF
"""The value that `worker` leaves in the memory that a kernel allocates next; as float32 it is such
a NaN."""
_QUIET = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8 << 48}
"""The bits that make a NaN of any others."""
SURE_BITS = 24
"""Number of bits that agree by chance once in ten million times."""
_DEVIATIONS = 6.0
"""Standard deviations that counts stay within."""


def poison(
    output: Array, guard: int, generator: np.random.Generator, plain: bool = False
) -> NDArray[np.uint8]:
    """The bytes of a poisoned output between two guards of ``guard`` bytes.

    All are drawn anew.  A float gets NaNs that no arithmetic makes, or, if ``plain``, ordinary
    numbers, which nothing tells from a result of an earlier call.
    """
    count = output.nbytes + 2 * guard
    made = np.frombuffer(generator.bytes(count), np.uint8).copy()
    inside = made[guard : guard + output.nbytes]
    if output.dtype == "bool":
        inside &= 1
    elif output.dtype in _QUIET and plain:
        inside[...] = ordinary(output, generator).reshape(-1).view(np.uint8)
    elif output.dtype in _QUIET:
        unsigned = _unsigned(output.numpy.itemsize)
        # An empty payload is the NaN that arithmetic makes.
        inside.view(unsigned)[...] |= unsigned.type(_QUIET[output.dtype] | 1)
    return made


def strength(output: Array) -> int:
    """Number of bits of an element that must agree by chance for it to equal its poison."""
    if output.dtype in _QUIET:
        return 64
    return 1 if output.dtype == "bool" else 8 * output.numpy.itemsize


def too_many(equal: int, of: int, chances: int) -> bool:
    """True if more elements are equal than chance allows.

    ``equal`` out of ``of`` elements are. One is equal by chance where ``chances`` bits agree.
    """
    expected = of * 2.0**-chances
    return equal * chances >= SURE_BITS and equal > expected + _DEVIATIONS * math.sqrt(expected)


def bits(values: AnyArray) -> NDArray[Any]:
    """The elements' bits, as unsigned integers."""
    return values.view(_unsigned(values.dtype.itemsize))


def heap_bits(like: AnyArray) -> NDArray[Any]:
    """The bits of an array like this one in memory that is full of `HEAP`."""
    pattern = np.resize(np.array([HEAP], np.uint32).view(np.uint8), like.nbytes)
    return pattern.view(_unsigned(like.dtype.itemsize)).reshape(like.shape)


def _unsigned(itemsize: int) -> np.dtype[Any]:
    return np.dtype(f"u{itemsize}")
