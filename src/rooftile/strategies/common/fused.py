"""The fused block after the convolution, as compiled helpers for kernels that need it.

`finish_row` turns rows of convolution outputs (bias included) that lie in scratch into one row of
the result: activation, then pooling, and the activation after the pool.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native, source
from rooftile.ops.activation import CODES
from rooftile.strategies.common.activation_texts import (
    scalar_activated,
    scalar_derivative,
    vector_row,
)

ACTIVATION_CODES = CODES
POOL_CODES = {"max": 0, "average": 1, "l2": 2, "weighted": 3}


activate = source("activate", scalar_activated().replace("REAL", "np.float32"))
"""``activate(z, code)``: an activation of one float32; NaN stays NaN."""
derivative = source("derivative", scalar_derivative().replace("REAL", "np.float32"))
"""``derivative(code, t)``: of an activation, where its value is t, or its input as the table of
activations says."""


@native
def larger(a, b):  # type: ignore[no-untyped-def]
    """The IEEE 754-2019 maximum: NaN if either is."""
    return a if a > b or a != a else b


@native
def norm(a, b):  # type: ignore[no-untyped-def]
    """The root of the sum of two squares; in float64 none of them overflows or vanishes."""
    y, z = np.float64(a), np.float64(b)
    return np.float32(math.sqrt(y * y + z * z))


@native
def pooled_with(pooled, y, kind):  # type: ignore[no-untyped-def]
    """A pool's running value with one more element.  It begins with -inf where the pool is a
    maximum, else with zero."""
    if kind == 0:
        return larger(pooled, y)
    return norm(pooled, y) if kind == 2 else pooled + y


activate_row = source("activate_row", vector_row())
"""Activate ``count`` elements of ``row`` from ``start`` in place, a vector at a time."""


@native
def fold_row(rows, into, other, count, kind):  # type: ignore[no-untyped-def]
    """Add a row to another, in place, or take the larger or the norm of both."""
    if kind == 1:
        for j in range(count):
            rows[into + j] += rows[other + j]
    elif kind == 2:
        for j in range(count):
            rows[into + j] = norm(rows[into + j], rows[other + j])
    else:
        for j in range(count):
            y, z = rows[into + j], rows[other + j]
            rows[into + j] = larger(y, z)


@native
def finish_row(  # type: ignore[no-untyped-def]
    rows, start, pitch, out, to, columns, window_height, window_width, stride, code, kind, after
):
    """Activate and pool ``window_height`` rows of convolution outputs (``pitch`` apart in
    ``rows``, from ``start``; overwritten) into ``columns`` results at ``out[to]``, and activate
    these as ``after`` says."""
    read = (columns - 1) * stride + window_width
    for a in range(window_height):
        activate_row(rows, start + a * pitch, read, code)
    if kind == 2:
        # A norm's running value is none below zero.
        for j in range(read):
            rows[start + j] = abs(rows[start + j])
    for a in range(1, window_height):
        fold_row(rows, start, start + a * pitch, read, kind)
    if window_width == 1 and stride == 1:
        for j in range(columns):
            out[to + j] = rows[start + j]
    else:
        pool_row(rows, start, out, to, columns, window_width, stride, kind)
    if kind == 1:
        area = np.float32(window_height * window_width)
        for j in range(columns):
            out[to + j] /= area
    activate_row(out, to, columns, after)


@native
def pool_row(rows, start, out, to, columns, width, stride, kind):  # type: ignore[no-untyped-def]
    """The sum, the maximum or the norm of each window of one row."""
    for column in range(columns):
        at = start + column * stride
        pooled = rows[at]
        for b in range(1, width):
            pooled = pooled_with(pooled, rows[at + b], kind)
        out[to + column] = pooled
