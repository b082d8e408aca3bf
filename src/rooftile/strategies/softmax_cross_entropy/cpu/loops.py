"""`loops`: one row after the other, on one thread.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 4.1 (the stable form) and
6.2.2.3.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def each_row(x, labels, loss, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    classes = sizes[0]
    for row in range(begin, end):
        first = row * classes
        largest = x[first]
        for k in range(first, first + classes):
            if x[k] > largest or x[k] != x[k]:
                largest = x[k]
        total = np.float32(0)
        for k in range(first, first + classes):
            total += np.float32(math.exp(x[k] - largest))
        for k in range(first, first + classes):
            dx[k] = np.float32(math.exp(x[k] - largest)) / total / np.float32(sizes[1])
        place = first + labels[row]
        probability = np.float32(math.exp(x[place] - largest)) / total
        dx[place] = (probability - np.float32(1)) / np.float32(sizes[1])
        loss[row] = np.float32(math.log(total)) - (x[place] - largest)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "softmax_cross_entropy"
    name = "loops"
    parallel = False
    summary = "one row after the other, on one thread"

    def kernel(self, problem: SoftmaxCrossEntropy) -> ArrayKernel:
        """See `ArrayStrategy.kernel`."""
        return ArrayKernel(each_row, problem.batch, (problem.classes, problem.divisor))


STRATEGY = Loops()
