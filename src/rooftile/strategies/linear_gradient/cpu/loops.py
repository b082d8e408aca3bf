"""`loops`: row by row, on one thread. Source: Goodfellow, Bengio, Courville, "Deep Learning"
(2016), section 6.5, algorithm 6.4."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.fused import ACTIVATION_CODES, derivative
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def each_row(  # type: ignore[no-untyped-def]
    x, y, dy, weights, dx, dweights, dbias, sizes, begin, end
):
    """Units are the items, whose rows of dx are made, then the outputs, with rows of dweights."""
    images, inputs, outputs = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, min(end, images)):
        for i in range(unit * inputs, (unit + 1) * inputs):
            dx[i] = 0.0
        for o in range(outputs):
            at = unit * outputs + o
            dz = dy[at] * derivative(sizes[3], y[at])
            for i in range(inputs):
                dx[unit * inputs + i] += dz * weights[o * inputs + i]
        for i in range(unit * inputs, (unit + 1) * inputs):
            dx[i] = dx[i] * derivative(sizes[4], x[i])
    for unit in range(max(begin, images), end):
        o = unit - images
        total = np.float32(0)
        for i in range(o * inputs, (o + 1) * inputs):
            dweights[i] = 0.0
        for n in range(images):
            at = n * outputs + o
            dz = dy[at] * derivative(sizes[3], y[at])
            total += dz
            for i in range(inputs):
                dweights[o * inputs + i] += dz * x[n * inputs + i]
        dbias[o] = total


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "linear_gradient"
    name = "loops"
    parallel = False
    summary = "row by row, on one thread"
    takes = features("activation:* before:*")

    def kernel(self, problem: LinearGradient) -> ArrayKernel:
        p = problem
        codes = ACTIVATION_CODES[p.activation], ACTIVATION_CODES[p.before]
        return ArrayKernel(each_row, p.images + p.outputs, (p.images, p.inputs, p.outputs, *codes))


STRATEGIES = loops_and_threads(Loops())
