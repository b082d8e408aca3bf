"""`loops`: one row after the other, on one thread. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), section 6.2.2.3."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def each_row(y, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    classes = sizes[0]
    for row in range(begin, end):
        total = np.float32(0)
        for k in range(row * classes, (row + 1) * classes):
            total += y[k] * dy[k]
        for k in range(row * classes, (row + 1) * classes):
            dx[k] = y[k] * (dy[k] - total)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "softmax_gradient"
    name = "loops"
    parallel = False
    summary = "one row after the other, on one thread"

    def kernel(self, problem: SoftmaxGradient) -> ArrayKernel:
        return ArrayKernel(each_row, problem.batch, (problem.classes,))


STRATEGIES = loops_and_threads(Loops())
