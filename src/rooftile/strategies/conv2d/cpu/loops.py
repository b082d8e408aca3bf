"""`loops`: the seven textbook loops.

Source: PMPP, figure 16.5, with the fused block around it.

A unit is one output map of one image.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.fused import (
    ACTIVATION_CODES,
    POOL_CODES,
    activate,
    activate_row,
    pooled_with,
)
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy, loops_and_threads
from rooftile.strategies.conv2d.sizes import BOUNDARY_CODES


@native
def pixel(x, plane, height, width, i, j, boundary):  # type: ignore[no-untyped-def]
    """One element of a channel that begins at ``x[plane]``; ghost cells are zeros, or replicas."""
    if boundary == 1:
        i, j = min(max(i, 0), height - 1), min(max(j, 0), width - 1)
    if 0 <= i < height and 0 <= j < width:
        return x[plane + i * width + j]
    return np.float32(0.0)


@native
def one_output(x, weights, start, sizes, n, m, row, column):  # type: ignore[no-untyped-def]
    """The convolution at one position: sum over channels and mask, starting from the bias.

    Ghost cells take part: an infinite tap on one of zero gives NaN, as in the reference.  Where
    only the interior counts, a position whose mask meets one is zero.
    """
    height, width, boundary = sizes[1], sizes[2], sizes[18]
    mask_height, mask_width, down, right = sizes[4], sizes[5], sizes[21], sizes[22]
    top, left = row * sizes[6] - sizes[8], column * sizes[7] - sizes[9]
    bottom, end = top + (mask_height - 1) * down, left + (mask_width - 1) * right
    if boundary == 2 and not (top >= 0 and bottom < height and left >= 0 and end < width):
        return np.float32(0.0)
    total, channels = start, sizes[0] // sizes[20]
    first = n * sizes[0] + m // (sizes[3] // sizes[20]) * channels
    for c in range(channels):
        plane = (first + c) * height * width
        for p in range(mask_height):
            for q in range(mask_width):
                tap = weights[((m * channels + c) * mask_height + p) * mask_width + q]
                i, j = top + p * down, left + q * right
                total += tap * pixel(x, plane, height, width, i, j, boundary)
    return total


@native
def one_row(x, weights, bias, out, sizes, n, m, row):  # type: ignore[no-untyped-def]
    """One row of the result: each output's pooling window, activated and pooled."""
    maps, activation, kind = sizes[3], sizes[10], sizes[11]
    window_height, window_width = sizes[12], sizes[13]
    rows, columns = sizes[16], sizes[17]
    to = ((n * maps + m) * rows + row) * columns
    for column in range(columns):
        pooled = np.float32(-math.inf if kind == 0 else 0.0)
        for a in range(window_height):
            for b in range(window_width):
                z = one_output(
                    x, weights, bias[m], sizes, n, m, row * sizes[14] + a, column * sizes[15] + b
                )
                pooled = pooled_with(pooled, activate(z, activation), kind)
        if kind == 1:
            pooled /= np.float32(window_height * window_width)
        out[to + column] = pooled
    activate_row(out, to, columns, sizes[19])


@native
def kernel(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """All rows of each map."""
    maps, rows = sizes[3], sizes[16]
    for unit in range(begin, end):
        for row in range(rows):
            one_row(x, weights, bias, out, sizes, unit // maps, unit % maps, row)


class Textbook(CpuStrategy):
    """Takes every problem."""

    operation = "conv2d"
    takes = features(
        "activation:* boundary:interior,replicate dilation groups padding padding_after "
        "pool.activation:* pool:average,l2,max stride"
    )

    def kernel(self, problem: Conv2d) -> CpuKernel:
        maps = problem.maps
        return CpuKernel(kernel, units=lambda images: images * maps, sizes=sizes_of(problem))


def sizes_of(problem: Conv2d) -> tuple[int, ...]:
    """The run-time sizes that the textbook kernel reads."""
    pool = problem.pool
    window, stride = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
    kind, after = pool_codes(problem)
    return (
        problem.channels, problem.height, problem.width, problem.maps, *problem.mask,
        *problem.stride, *problem.padding, ACTIVATION_CODES[problem.activation],
        kind, *window, *stride, *problem.output_size, BOUNDARY_CODES[problem.boundary], after,
        problem.groups, *problem.dilation,
    )  # fmt: skip


def pool_codes(problem: Conv2d) -> tuple[int, int]:
    """The codes of the pool's kind and its activation; without a pool the codes of a maximum."""
    pool = problem.pool
    if pool is None:
        return POOL_CODES["max"], ACTIVATION_CODES["none"]
    return POOL_CODES[pool.kind], ACTIVATION_CODES[pool.activation]


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    summary = "the seven textbook loops, one thread"
    parallel = False


STRATEGIES = loops_and_threads(Loops(), "the same loops over a pool of threads")
