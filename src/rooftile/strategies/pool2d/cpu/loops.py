"""`loops`: one window after the other.

Source: PMPP, section 16.2 (the subsampling layer).

A unit is one result row of one channel of one image.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops import Pool2d
from rooftile.ops.features import features
from rooftile.strategies.common.fused import (
    ACTIVATION_CODES,
    POOL_CODES,
    activate_row,
    pooled_with,
)
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy, loops_and_threads


@native
def kernel(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """The pool of each window, element by element."""
    height, width, kind = sizes[0], sizes[1], sizes[2]
    rows, columns = sizes[7], sizes[8]
    area = np.float32(sizes[3] * sizes[4])
    for unit in range(begin, end):
        plane, row = unit // rows, unit % rows
        for column in range(columns):
            pooled = np.float32(-math.inf if kind == 0 else 0.0)
            for a in range(sizes[3]):
                for b in range(sizes[4]):
                    i, j = row * sizes[5] + a, column * sizes[6] + b
                    y = x[(plane * height + i) * width + j]
                    if kind == 3:
                        y = y * weights[a * sizes[4] + b]
                    pooled = pooled_with(pooled, y, kind)
            out[unit * columns + column] = pooled / area if kind == 1 else pooled
        finish(bias, out, sizes, plane, unit * columns, columns)


@native
def finish(bias, out, sizes, plane, to, columns):  # type: ignore[no-untyped-def]
    """Add the bias of a plane's channel to a row of results, and activate them."""
    if sizes[10]:
        shift = bias[plane % sizes[9]]
        for j in range(columns):
            out[to + j] += shift
    activate_row(out, to, columns, sizes[11])


class Textbook(CpuStrategy):
    """Takes every problem."""

    operation = "pool2d"
    takes = features("bias pool.activation:*")

    def kernel(self, problem: Pool2d) -> CpuKernel:
        units = problem.channels * problem.output_shape[2]
        return CpuKernel(kernel, units=lambda images: images * units, sizes=sizes_of(problem))


def sizes_of(problem: Pool2d) -> tuple[int, ...]:
    """Image, kind, window, stride, result, channels, whether there is a bias, and the activation,
    as the kernels of `pool2d` read them."""
    pool = problem.pool
    return (
        problem.height, problem.width, POOL_CODES[pool.kind], *pool.window, *pool.stride,
        *problem.output_shape[2:], problem.channels, int(problem.bias),
        ACTIVATION_CODES[pool.activation],
    )  # fmt: skip


class Loops(Textbook):
    """One output at a time, on one core."""

    name = "loops"
    summary = "one window after the other, one thread"
    parallel = False


STRATEGIES = loops_and_threads(Loops(), "the same loops over a pool of threads")
