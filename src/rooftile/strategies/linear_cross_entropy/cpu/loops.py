"""`loops`: one image after the other, on one thread. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), sections 6.2.2.3 and 6.5."""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate, derivative


@native
def layer(x, weights, bias, y, n, inputs, outputs, code):  # type: ignore[no-untyped-def]
    """An image's row of y."""
    for o in range(outputs):
        total = np.float32(0)
        for i in range(inputs):
            total += x[n * inputs + i] * weights[o * inputs + i]
        y[n * outputs + o] = activate(total + bias[o], code)


@native
def change(dz, weights, x, dx, n, inputs, outputs, code):  # type: ignore[no-untyped-def]
    """An image's row of dx, before the activation whose value x is."""
    for i in range(inputs):
        total = np.float32(0)
        for o in range(outputs):
            total += dz[n * outputs + o] * weights[o * inputs + i]
        dx[n * inputs + i] = total * derivative(code, x[n * inputs + i])


@native
def entropy(dz, labels, loss, n, outputs, images, scale):  # type: ignore[no-untyped-def]
    """An image's loss, and the gradient of its scores, which dz holds before."""
    first = n * outputs
    largest = dz[first]
    for o in range(outputs):
        value = dz[first + o]
        if value > largest or value != value:
            largest = value
    total = np.float32(0)
    for o in range(outputs):
        total += np.float32(math.exp(dz[first + o] - largest))
    label = np.int64(labels[n])
    loss[n] = np.float32(math.log(total)) - (dz[first + label] - largest)
    for o in range(outputs):
        off = np.float32(math.exp(dz[first + o] - largest)) / total
        if o == label:
            off -= np.float32(1)
        dz[first + o] = scale * (off / np.float32(images))


@native
def of_last(  # type: ignore[no-untyped-def]
    x, weights, bias, labels, dx, loss, dz, sizes, begin, end
):
    """Units are images."""
    for n in range(begin, end):
        layer(x, weights, bias, dz, n, sizes[2], sizes[3], 0)
        entropy(dz, labels, loss, n, sizes[3], sizes[0], np.float32(1))
        change(dz, weights, x, dx, n, sizes[2], sizes[3], sizes[4])


@native
def of_last_scaled(  # type: ignore[no-untyped-def]
    x, weights, bias, labels, scaling, dx, loss, dz, sizes, begin, end
):
    """The same; gradients are scaled."""
    for n in range(begin, end):
        layer(x, weights, bias, dz, n, sizes[2], sizes[3], 0)
        entropy(dz, labels, loss, n, sizes[3], sizes[0], scaling[0])
        change(dz, weights, x, dx, n, sizes[2], sizes[3], sizes[4])


@native
def of_both(  # type: ignore[no-untyped-def]
    x, first_weights, first_bias, weights, bias, labels, hidden, hidden_dz, dx, loss, dz,
    sizes, begin, end,
):  # fmt: skip
    """Units are images."""
    for n in range(begin, end):
        layer(x, first_weights, first_bias, hidden, n, sizes[1], sizes[2], sizes[4])
        layer(hidden, weights, bias, dz, n, sizes[2], sizes[3], 0)
        entropy(dz, labels, loss, n, sizes[3], sizes[0], np.float32(1))
        change(dz, weights, hidden, hidden_dz, n, sizes[2], sizes[3], sizes[4])
        change(hidden_dz, first_weights, x, dx, n, sizes[1], sizes[2], sizes[5])


@native
def of_both_scaled(  # type: ignore[no-untyped-def]
    x, first_weights, first_bias, weights, bias, labels, scaling, hidden, hidden_dz, dx, loss, dz,
    sizes, begin, end,
):  # fmt: skip
    """The same; gradients are scaled."""
    for n in range(begin, end):
        layer(x, first_weights, first_bias, hidden, n, sizes[1], sizes[2], sizes[4])
        layer(hidden, weights, bias, dz, n, sizes[2], sizes[3], 0)
        entropy(dz, labels, loss, n, sizes[3], sizes[0], scaling[0])
        change(dz, weights, hidden, hidden_dz, n, sizes[2], sizes[3], sizes[4])
        change(hidden_dz, first_weights, x, dx, n, sizes[1], sizes[2], sizes[5])


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "linear_cross_entropy"
    name = "loops"
    parallel = False
    summary = "one image after the other, on one thread"
    takes = features("before:* below:* features scaled")

    def kernel(self, problem: LinearCrossEntropy) -> ArrayKernel:
        p = problem
        last, both = (of_last, of_last_scaled), (of_both, of_both_scaled)
        codes = ACTIVATION_CODES[p.before], ACTIVATION_CODES[p.below]
        sizes = p.images, p.features, p.inputs, p.outputs, *codes
        return ArrayKernel((both if p.features else last)[p.scaled], p.images, sizes)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGIES = (Loops(), Threads())
