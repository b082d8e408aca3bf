"""One window after the other, shared by the rungs `loops` and `threads`.

A unit is one result row of one channel of one image.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops import Pool2d
from rooftile.strategies.common.fused import larger
from rooftile.strategies.cpu import CpuKernel, CpuStrategy


@native
def kernel(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """The sum or the maximum of each window, element by element."""
    height, width, average = sizes[0], sizes[1], sizes[2]
    rows, columns = sizes[7], sizes[8]
    area = np.float32(sizes[3] * sizes[4])
    for unit in range(begin, end):
        plane, row = unit // rows, unit % rows
        for column in range(columns):
            pooled = np.float32(0.0 if average else -math.inf)
            for a in range(sizes[3]):
                for b in range(sizes[4]):
                    i, j = row * sizes[5] + a, column * sizes[6] + b
                    y = x[(plane * height + i) * width + j]
                    pooled = pooled + y if average else larger(pooled, y)
            out[unit * columns + column] = pooled / area if average else pooled


class Textbook(CpuStrategy):
    """Takes every problem."""

    operation = "pool2d"

    def why_not(self, problem: Pool2d) -> str | None:
        """None: it takes everything."""
        return None

    def kernel(self, problem: Pool2d) -> CpuKernel:
        """See `CpuStrategy.kernel`."""
        units = problem.channels * problem.output_shape[2]
        return CpuKernel(kernel, units=lambda images: images * units, sizes=sizes_of(problem))


def sizes_of(problem: Pool2d) -> tuple[int, ...]:
    """Image, kind, window, stride and result, as the kernels of `pool2d` read them."""
    pool = problem.pool
    return (
        problem.height, problem.width, int(pool.kind == "average"), *pool.window, *pool.stride,
        *problem.output_shape[2:],
    )  # fmt: skip
