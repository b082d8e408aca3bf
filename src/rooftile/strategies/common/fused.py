"""The fused block after the convolution, as compiled helpers for kernels that need it.

`finish_row` turns rows of convolution outputs (bias included) that lie in
scratch into one row of the result: activation, then pooling.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native

ACTIVATION_CODES = {"none": 0, "relu": 1, "sigmoid": 2, "tanh": 3}


@native
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


@native
def larger(a, b):  # type: ignore[no-untyped-def]
    """The IEEE 754-2019 maximum: NaN if either is."""
    return a if a > b or a != a else b


@native
def activate_row(row, start, count, code):  # type: ignore[no-untyped-def]
    """Activate ``count`` elements in place."""
    if code == 1:
        for j in range(count):
            z = row[start + j]
            row[start + j] = np.float32(0.0) if z < np.float32(0.0) else z
    elif code > 1:
        for j in range(start, start + count):
            row[j] = activate(row[j], code)


@native
def fold_row(rows, into, other, count, average):  # type: ignore[no-untyped-def]
    """Add (``average``) or take the larger of a row and another, in place."""
    if average:
        for j in range(count):
            rows[into + j] += rows[other + j]
    else:
        for j in range(count):
            y, z = rows[into + j], rows[other + j]
            rows[into + j] = larger(y, z)


@native
def finish_row(  # type: ignore[no-untyped-def]
    rows, start, pitch, out, to, columns, window_height, window_width, stride, code, average
):
    """Activate and pool ``window_height`` rows of convolution outputs (``pitch`` apart in
    ``rows``, from ``start``; overwritten) into ``columns`` results at ``out[to]``."""
    read = (columns - 1) * stride + window_width
    for a in range(window_height):
        activate_row(rows, start + a * pitch, read, code)
    for a in range(1, window_height):
        fold_row(rows, start, start + a * pitch, read, average)
    if window_width == 1 and stride == 1:
        for j in range(columns):
            out[to + j] = rows[start + j]
    else:
        pool_row(rows, start, out, to, columns, window_width, stride, average)
    if average:
        area = np.float32(window_height * window_width)
        for j in range(columns):
            out[to + j] /= area


@native
def pool_row(rows, start, out, to, columns, width, stride, average):  # type: ignore[no-untyped-def]
    """The sum or the maximum of each window of one row."""
    for column in range(columns):
        at = start + column * stride
        pooled = rows[at]
        for b in range(1, width):
            y = rows[at + b]
            pooled = pooled + y if average else larger(pooled, y)
        out[to + column] = pooled
