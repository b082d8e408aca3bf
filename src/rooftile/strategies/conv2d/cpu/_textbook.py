"""The seven loops of the textbook, shared by the rungs `loops` and `threads`.

A unit is one output map of one image.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops import Conv2d
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate, larger
from rooftile.strategies.cpu import CpuKernel, CpuStrategy


@native
def one_output(x, weights, start, sizes, n, m, row, column):  # type: ignore[no-untyped-def]
    """The convolution at one position: sum over channels and mask, starting from the bias.

    Ghost cells take part as zeros: an infinite tap on one gives NaN, as in the reference.
    """
    channels, height, width = sizes[0], sizes[1], sizes[2]
    mask_height, mask_width = sizes[4], sizes[5]
    total = start
    for c in range(channels):
        for p in range(mask_height):
            i = row * sizes[6] + p - sizes[8]
            for q in range(mask_width):
                j = column * sizes[7] + q - sizes[9]
                tap = weights[((m * channels + c) * mask_height + p) * mask_width + q]
                if 0 <= i < height and 0 <= j < width:
                    total += tap * x[((n * channels + c) * height + i) * width + j]
                else:
                    total += tap * np.float32(0.0)
    return total


@native
def one_row(x, weights, bias, out, sizes, n, m, row):  # type: ignore[no-untyped-def]
    """One row of the result: each output's pooling window, activated and pooled."""
    maps, activation, average = sizes[3], sizes[10], sizes[11]
    window_height, window_width = sizes[12], sizes[13]
    rows, columns = sizes[16], sizes[17]
    for column in range(columns):
        pooled = np.float32(0.0 if average else -math.inf)
        for a in range(window_height):
            for b in range(window_width):
                z = one_output(
                    x, weights, bias[m], sizes, n, m, row * sizes[14] + a, column * sizes[15] + b
                )
                y = activate(z, activation)
                pooled = pooled + y if average else larger(pooled, y)
        if average:
            pooled /= np.float32(window_height * window_width)
        out[((n * maps + m) * rows + row) * columns + column] = pooled


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

    def why_not(self, problem: Conv2d) -> str | None:
        """None: it takes everything."""
        return None

    def kernel(self, problem: Conv2d) -> CpuKernel:
        """See `CpuStrategy.kernel`."""
        maps = problem.maps
        return CpuKernel(kernel, units=lambda images: images * maps, sizes=sizes_of(problem))


def sizes_of(problem: Conv2d) -> tuple[int, ...]:
    """The run-time sizes that the textbook kernel reads."""
    pool = problem.pool
    window, stride = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
    return (
        problem.channels, problem.height, problem.width, problem.maps, *problem.mask,
        *problem.stride, *problem.padding, ACTIVATION_CODES[problem.activation],
        int(pool is not None and pool.kind == "average"), *window, *stride, *problem.output_size,
    )  # fmt: skip
