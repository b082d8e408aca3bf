"""`loops`: one row after the other, on one thread. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), sections 4.1 (the stable form) and 6.2.2.3."""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def one_row(x, labels, loss, dx, sizes, row, factor):  # type: ignore[no-untyped-def]
    """Loss and gradient of a row whose label is a class that counts."""
    classes, divisor = sizes[0], np.float32(sizes[1])
    first = row * classes
    largest = x[first]
    for k in range(first, first + classes):
        if x[k] > largest or x[k] != x[k]:
            largest = x[k]
    total = np.float32(0)
    for k in range(first, first + classes):
        total += np.float32(math.exp(x[k] - largest))
    for k in range(first, first + classes):
        dx[k] = factor * (np.float32(math.exp(x[k] - largest)) / total / divisor)
    place = first + labels[row]
    probability = np.float32(math.exp(x[place] - largest)) / total
    dx[place] = factor * ((probability - np.float32(1)) / divisor)
    loss[row] = factor * (np.float32(math.log(total)) - (x[place] - largest))


@native
def nothing(loss, dx, sizes, row):  # type: ignore[no-untyped-def]
    """Zeros for a row that does not count."""
    loss[row] = np.float32(0)
    for k in range(row * sizes[0], (row + 1) * sizes[0]):
        dx[k] = np.float32(0)


@native
def each_row(x, labels, loss, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows.  ``sizes``: classes, divisor, the label that is ignored."""
    for row in range(begin, end):
        if 0 <= labels[row] < sizes[0] and labels[row] != sizes[2]:
            one_row(x, labels, loss, dx, sizes, row, np.float32(1))
        else:
            nothing(loss, dx, sizes, row)


@native
def each_weighted_row(x, labels, weights, loss, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows, each multiplied by the weight of its label."""
    for row in range(begin, end):
        if 0 <= labels[row] < sizes[0] and labels[row] != sizes[2]:
            one_row(x, labels, loss, dx, sizes, row, weights[labels[row]])
        else:
            nothing(loss, dx, sizes, row)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "softmax_cross_entropy"
    takes = features("weighted ignored")
    name = "loops"
    parallel = False
    summary = "one row after the other, on one thread"

    def kernel(self, problem: SoftmaxCrossEntropy) -> ArrayKernel:
        function = each_weighted_row if problem.weighted else each_row
        sizes = (problem.classes, problem.divisor, problem.ignored)
        return ArrayKernel(function, problem.batch, sizes)


STRATEGIES = loops_and_threads(Loops())
