"""Dense operations in float64 on the CPU: the textbook's loops, over the cores.

Products of matrices and vectors, layers, and correlations along one, two or three axes: float64 has
one rung for each operation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rooftile.devices.cpu.native import native, source
from rooftile.strategies.common.activation_texts import scalar_activated
from rooftile.strategies.contract.cpu import ArrayStrategy


class Double(ArrayStrategy):
    """Takes problems of float64 alone."""

    name = "double"

    def limits(self, problem: Any) -> str | None:
        return None if problem.double else "it computes in float64, and the arrays are float32"


activated = source("activated", scalar_activated().replace("REAL", "np.float64"))
"""``activated(z, code)``: an activation of a float64."""


@native
def norm(a, b):  # type: ignore[no-untyped-def]
    """The root of the sum of two squares, none of which overflows or vanishes."""
    y, z = abs(a), abs(b)
    most, least = y, z
    if z > y or z != z:
        most, least = z, y
    if most == 0 or most != most or most == np.float64(math.inf):
        return most
    ratio = least / most
    return most * math.sqrt(np.float64(1) + ratio * ratio)


@native
def products(a, b, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are results.  ``sizes``: terms, columns; how far apart a's rows lie and its terms, b's
    terms and its columns."""
    terms, columns = sizes[0], sizes[1]
    for unit in range(begin, end):
        i, j = unit // columns, unit % columns
        total = a[i * sizes[2]] * b[j * sizes[5]]
        for k in range(1, terms):
            total += a[i * sizes[2] + k * sizes[3]] * b[k * sizes[4] + j * sizes[5]]
        out[unit] = total


@native
def layer(x, weights, bias, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are outputs of rows.  ``sizes``: inputs, outputs, the activation's code."""
    inputs, outputs = sizes[0], sizes[1]
    for unit in range(begin, end):
        n, o = unit // outputs, unit % outputs
        total = bias[o]
        for i in range(inputs):
            total += weights[o * inputs + i] * x[n * inputs + i]
        out[unit] = activated(total, sizes[2])


@native
def seen(x, volume, sizes, z, i, j):  # type: ignore[no-untyped-def]
    """An element of a channel; ghost cells are zeros, or replicas of the nearest one."""
    depth, height, width = sizes[1], sizes[2], sizes[3]
    if sizes[17] == 1:
        i, j = min(max(i, 0), height - 1), min(max(j, 0), width - 1)
    if 0 <= z < depth and 0 <= i < height and 0 <= j < width:
        return x[((volume * depth + z) * height + i) * width + j]
    return np.float64(0)


@native
def correlation(x, weights, start, sizes, volume, m, z, i, j):  # type: ignore[no-untyped-def]
    """The sum over channels and mask at one position, from ``start`` on; where only the interior
    counts, zero if the mask leaves it."""
    deep, tall, wide, down, right = sizes[8], sizes[9], sizes[10], sizes[26], sizes[27]
    front, top, left = z - sizes[11], i * sizes[12] - sizes[14], j * sizes[13] - sizes[15]
    bottom, end = top + (tall - 1) * down, left + (wide - 1) * right
    if sizes[17] == 2 and not (top >= 0 and bottom < sizes[2] and left >= 0 and end < sizes[3]):
        return np.float64(0)
    total, channels = start, sizes[0] // sizes[25]
    for c in range(channels):
        for d in range(deep):
            for p in range(tall):
                for q in range(wide):
                    tap = weights[(((m * channels + c) * deep + d) * tall + p) * wide + q]
                    row, column = top + p * down, left + q * right
                    total += tap * seen(x, volume + c, sizes, front + d, row, column)
    return total


@native
def correlated_rows(x, weights, bias, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of the result; ``bias`` is read where sizes[16] is not 0.

    ``sizes``: channels; the size of x, maps; the size of the result; the size of the mask; the
    distance from an output to its first plane, the strides, the distances to its first row and
    column; the bias; the boundary; the activation; the pool's kind, its window and its strides, and
    the activation after it; the groups and the dilations.
    """
    maps, planes, rows, columns = sizes[4], sizes[5], sizes[6], sizes[7]
    kind, high, broad = sizes[19], sizes[20], sizes[21]
    for unit in range(begin, end):
        i, z, image = unit % rows, unit // rows % planes, unit // (rows * planes)
        m, groups = image % maps, sizes[25]
        volume = image // maps * sizes[0] + m // (maps // groups) * (sizes[0] // groups)
        start = np.float64(0)
        if sizes[16]:
            start = bias[m]
        for j in range(columns):
            pooled = np.float64(-math.inf if kind == 0 else 0.0)
            for a in range(high):
                for b in range(broad):
                    row, column = i * sizes[22] + a, j * sizes[23] + b
                    y = correlation(x, weights, start, sizes, volume, m, z, row, column)
                    y = activated(y, sizes[18])
                    if kind == 0:
                        pooled = pooled if pooled > y or pooled != pooled else y
                    elif kind == 2:
                        pooled = norm(pooled, y)
                    else:
                        pooled += y
            if kind == 1:
                pooled /= np.float64(high * broad)
            out[unit * columns + j] = activated(pooled, sizes[24])


@native
def correlated(x, weights, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Without a bias; its placeholder is not read."""
    correlated_rows(x, weights, weights, out, sizes, begin, end)


@native
def separated(x, column, row, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of results: the column's sum under each tap of the row.

    ``sizes``: height, width; rows and columns of the result; taps of column and row; how many lie
    before an output; whether ghost cells are replicas.
    """
    height, width, rows, columns = sizes[0], sizes[1], sizes[2], sizes[3]
    for unit in range(begin, end):
        i, image = unit % rows, unit // rows * height * width
        for j in range(columns):
            total = np.float64(0)
            for q in range(sizes[5]):
                part = np.float64(0)
                for p in range(sizes[4]):
                    r, s = i + p - sizes[6], j + q - sizes[7]
                    if sizes[8]:
                        r, s = min(max(r, 0), height - 1), min(max(s, 0), width - 1)
                    value = np.float64(0)
                    if 0 <= r < height and 0 <= s < width:
                        value = x[image + r * width + s]
                    part += column[p] * value
                total += row[q] * part
            out[unit * columns + j] = total


PLAIN = (0, 0, 1, 1, 1, 1, 0, 1, 1, 1)
"""The last of `correlated_rows`'s sizes, without activations, a pool, groups and dilations."""
