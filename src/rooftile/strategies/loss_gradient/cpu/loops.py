"""`loops`: one row after the other, on one thread. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), sections 6.2.1 and 6.2.2."""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def off_numbers(y, wanted, loss, dy, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows; the factor of a square is given in halves."""
    outputs = sizes[1]
    factor = np.float32(sizes[2]) * np.float32(0.5)
    for row in range(begin, end):
        total = np.float32(0)
        for k in range(row * outputs, row * outputs + outputs):
            off = y[k] - wanted[k]
            total += factor * (off * off)
            dy[k] = np.float32(2) * factor * off / np.float32(sizes[0])
        loss[row] = total


@native
def off_labels(y, labels, loss, dy, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows; one output should be the label itself."""
    outputs = sizes[1]
    factor = np.float32(sizes[2]) * np.float32(0.5)
    for row in range(begin, end):
        total = np.float32(0)
        for k in range(outputs):
            aim = np.float32(labels[row] == k)
            if outputs == 1:
                aim = np.float32(labels[row])
            off = y[row * outputs + k] - aim
            total += factor * (off * off)
            dy[row * outputs + k] = np.float32(2) * factor * off / np.float32(sizes[0])
        loss[row] = total


@native
def missed(y, labels, loss, dy, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    outputs = sizes[1]
    for row in range(begin, end):
        first = row * outputs
        for k in range(first, first + outputs):
            dy[k] = np.float32(0)
        dy[first + labels[row]] = np.float32(-1) / np.float32(sizes[0])
        loss[row] = np.float32(1) - y[first + labels[row]]


@native
def squared_distance(y, labels, loss, dy, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    outputs = sizes[1]
    for row in range(begin, end):
        total = np.float32(0)
        for k in range(outputs):
            distance = np.float32(k - labels[row])
            total += y[row * outputs + k] * (distance * distance)
            dy[row * outputs + k] = distance * distance / np.float32(sizes[0])
        loss[row] = total


@native
def sigmoid_cross_entropy(y, labels, loss, dy, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows of one output.  The exponential of no positive number overflows."""
    for row in range(begin, end):
        z = y[row]
        label = np.float32(labels[row])
        above = z
        small = np.float32(math.exp(-z))
        part = np.float32(1)
        if z < 0:
            above = np.float32(0)
            small = np.float32(math.exp(z))
            part = small
        likely = part / (np.float32(1) + small)
        loss[row] = above - z * label + np.float32(math.log1p(small))
        dy[row] = (likely - label) / np.float32(sizes[0])


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "loss_gradient"
    name = "loops"
    parallel = False
    summary = "one row after the other, on one thread"
    takes = features(
        "loss:half_squared_error,missed,sigmoid_cross_entropy,squared_distance numbers"
    )

    def kernel(self, problem: LossGradient) -> ArrayKernel:
        functions = {
            "missed": missed,
            "squared_distance": squared_distance,
            "sigmoid_cross_entropy": sigmoid_cross_entropy,
        }
        squares = off_numbers if problem.numbers else off_labels
        sizes = (problem.rows, problem.outputs, int(2 * problem.factor))
        return ArrayKernel(functions.get(problem.loss, squares), problem.rows, sizes)


STRATEGIES = loops_and_threads(Loops())
