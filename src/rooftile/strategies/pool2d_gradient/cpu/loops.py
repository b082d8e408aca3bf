"""`loops`: one window after the other, on one thread. Source: Scherer, Müller, Behnke, "Evaluation
of Pooling Operations in Convolutional Architectures", ICANN 2010."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.winner import winner
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def each_window(x, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are planes: channels of images."""
    height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3]
    down, right, rows, columns = sizes[4], sizes[5], sizes[6], sizes[7]
    for unit in range(begin, end):
        plane = unit * height * width
        for k in range(plane, plane + height * width):
            dx[k] = 0.0
        for i in range(rows):
            for j in range(columns):
                brought = dy[(unit * rows + i) * columns + j]
                if sizes[8]:
                    brought = brought / np.float32(tall * wide)
                    for a in range(tall):
                        for b in range(wide):
                            dx[plane + (i * down + a) * width + j * right + b] += brought
                else:
                    dx[winner(x, plane, width, i * down, j * right, tall, wide)] += brought


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "pool2d_gradient"
    name = "loops"
    parallel = False
    summary = "one window after the other, on one thread"

    def kernel(self, problem: Pool2dGradient) -> ArrayKernel:
        p = problem
        sizes = (
            p.height,
            p.width,
            *p.pool.window,
            *p.pool.stride,
            *p.output_size,
            int(p.pool.kind == "average"),
        )
        return ArrayKernel(each_window, p.batch * p.channels, sizes)


STRATEGIES = loops_and_threads(Loops())
