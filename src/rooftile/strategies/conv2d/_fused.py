"""The fused block after the convolution, as compiled helpers for kernels that need it.

`finish_row` turns rows of convolution outputs (bias included) that lie in
scratch into one row of the result: activation, then pooling.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

ACTIVATION_CODES = {"none": 0, "relu": 1, "sigmoid": 2, "tanh": 3}


@njit(nogil=True, cache=True)
def activate(z, code):  # type: ignore[no-untyped-def]
    """An activation of one float32; NaN stays NaN."""
    if code == 1:
        return np.float32(0.0) if z < np.float32(0.0) else z
    if code == 2:
        # exp of a non-positive argument cannot overflow.
        e = np.float32(math.exp(-abs(z)))
        return e / (np.float32(1.0) + e) if z < 0 else np.float32(1.0) / (np.float32(1.0) + e)
    if code == 3:
        return np.float32(math.tanh(z))
    return z


@njit(nogil=True, cache=True)
def larger(a, b):  # type: ignore[no-untyped-def]
    """The IEEE 754-2019 maximum: NaN if either is."""
    return a if a > b or a != a else b
