"""Memory for results on the CPU."""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.problem import Array

_SMALL_BYTES = 2**16
"""To align a smaller result would take longer than to compute it."""


def new_result(result: Array) -> AnyArray:
    """An array for a result, aligned where that pays.  Raises `OutOfMemory`."""
    if result.nbytes < _SMALL_BYTES:
        return np.empty(result.shape, result.numpy)
    return cpu.aligned(result.shape, result.numpy, "the result")
