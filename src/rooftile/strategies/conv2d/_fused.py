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


@njit(nogil=True, cache=True)
def activate_row(row, start, count, code):  # type: ignore[no-untyped-def]
    """Activate ``count`` elements in place."""
    if code == 1:
        for j in range(start, start + count):
            row[j] = np.float32(0.0) if row[j] < np.float32(0.0) else row[j]
    elif code > 1:
        for j in range(start, start + count):
            row[j] = activate(row[j], code)


@njit(nogil=True, cache=True)
def finish_row(  # type: ignore[no-untyped-def]
    rows, start, pitch, out, to, columns, window_height, window_width, stride, code, average
):
    """Activate and pool ``window_height`` rows of convolution outputs (``pitch`` apart in
    ``rows``, from ``start``; overwritten) into ``columns`` results at ``out[to]``."""
    read = (columns - 1) * stride + window_width
    for a in range(window_height):
        activate_row(rows, start + a * pitch, read, code)
    for a in range(1, window_height):
        for j in range(read):
            y, z = rows[start + j], rows[start + a * pitch + j]
            rows[start + j] = y + z if average else larger(y, z)
    area = np.float32(window_height * window_width)
    for column in range(columns):
        pooled = rows[start + column * stride]
        for b in range(1, window_width):
            y = rows[start + column * stride + b]
            pooled = pooled + y if average else larger(pooled, y)
        out[to + column] = pooled / area if average else pooled
