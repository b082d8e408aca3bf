"""`loops`: one row after the other, on one thread.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.3.
"""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate


@native
def biased(x, bias, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows."""
    columns = sizes[0]
    for row in range(begin, end):
        for k in range(columns):
            y[row * columns + k] = activate(x[row * columns + k] + bias[k], sizes[1])


@native
def unbiased(x, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        y[i] = activate(x[i], sizes[1])


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "bias_activation"
    name = "loops"
    parallel = False
    summary = "one row after the other, on one thread"
    takes = features("activation:* bias")

    def kernel(self, problem: BiasActivation) -> ArrayKernel:
        sizes = problem.columns, ACTIVATION_CODES[problem.activation]
        if problem.bias:
            return ArrayKernel(biased, problem.rows, sizes)
        return ArrayKernel(unbiased, problem.size, sizes)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
