"""`loops`: one output after the other, on one thread. Source: Goodfellow, Bengio, Courville, "Deep
Learning" (2016), section 6.5, algorithm 6.4."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.gradients.linear_weights_gradient import LinearWeightsGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def of_output(x, dz, dweights, dbias, images, inputs, outputs, o):  # type: ignore[no-untyped-def]
    """The weights and the bias of an output, by sums of 32 images: of equal terms, long sums round
    the same way again and again."""
    for i in range(o * inputs, (o + 1) * inputs):
        dweights[i] = 0.0
    total = np.float32(0)
    for first in range(0, images, 32):
        last = min(images, first + 32)
        of_run = np.float32(0)
        for n in range(first, last):
            of_run += dz[n * outputs + o]
        total += of_run
        for i in range(inputs):
            run = np.float32(0)
            for n in range(first, last):
                run += dz[n * outputs + o] * x[n * inputs + i]
            dweights[o * inputs + i] += run
    dbias[o] = total


@native
def of_last(x, dz, dweights, dbias, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are outputs."""
    for o in range(begin, end):
        of_output(x, dz, dweights, dbias, sizes[0], sizes[2], sizes[3], o)


@native
def of_both(  # type: ignore[no-untyped-def]
    first_x, first_dz, x, dz, first_dweights, first_dbias, dweights, dbias, sizes, begin, end
):
    """Units are the first layer's outputs, then the last one's."""
    for unit in range(begin, end):
        if unit < sizes[2]:
            of_output(
                first_x, first_dz, first_dweights, first_dbias, sizes[0], sizes[1], sizes[2], unit
            )
        else:
            of_output(x, dz, dweights, dbias, sizes[0], sizes[2], sizes[3], unit - sizes[2])


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "linear_weights_gradient"
    name = "loops"
    parallel = False
    summary = "one output after the other, on one thread"
    takes = features("features")

    def kernel(self, problem: LinearWeightsGradient) -> ArrayKernel:
        p = problem
        units = sum(outputs for _, outputs in p.layers)
        sizes = p.images, p.features, p.inputs, p.outputs
        return ArrayKernel(of_both if p.features else of_last, units, sizes)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loops on every core"


STRATEGIES = (Loops(), Threads())
