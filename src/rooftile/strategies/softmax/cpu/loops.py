"""`loops`: row by row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1 (the
largest element is subtracted first, so that no exponential overflows).

A unit is one row.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops import Softmax
from rooftile.strategies.common.fused import larger
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy, loops_and_threads


@native
def kernel(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Find the largest element, sum the exponentials of the distances to it, divide by the sum.

    NaN and +inf make the whole row NaN, since inf - inf is NaN, and so then is the sum.
    """
    classes = sizes[0]
    for row in range(begin, end):
        start = row * classes
        largest = np.float32(-math.inf)
        for j in range(classes):
            largest = larger(largest, x[start + j])
        total = np.float32(0.0)
        for j in range(classes):
            e = np.float32(math.exp(x[start + j] - largest))
            out[start + j] = e
            total += e
        for j in range(classes):
            out[start + j] /= total


class Textbook(CpuStrategy):
    """Takes every problem."""

    operation = "softmax"

    def kernel(self, problem: Softmax) -> CpuKernel:
        return CpuKernel(kernel, units=lambda images: images, sizes=(problem.classes,))


class Loops(Textbook):
    """One row at a time, on one core."""

    name = "loops"
    summary = "row by row, one thread"
    parallel = False


STRATEGIES = loops_and_threads(Loops(), "the same loops over a pool of threads")
