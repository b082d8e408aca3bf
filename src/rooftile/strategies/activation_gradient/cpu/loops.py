"""`loops`: one element after the other, on one thread.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.3.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.native import native
from rooftile.ops.activation_gradient import ActivationGradient
from rooftile.ops.features import features
from rooftile.strategies import ArrayKernel, ArrayStrategy


@native
def copied(y, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        dx[i] = dy[i]


@native
def relu(y, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        dx[i] = dy[i] * np.float32(y[i] > 0)


@native
def sigmoid(y, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        dx[i] = dy[i] * (y[i] * (np.float32(1) - y[i]))


@native
def tanh(y, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        dx[i] = dy[i] * (np.float32(1) - y[i] * y[i])


@native
def softplus(y, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        dx[i] = dy[i] * (np.float32(1) - np.float32(math.exp(-y[i])))


FUNCTIONS = {"none": copied, "relu": relu, "sigmoid": sigmoid, "tanh": tanh, "softplus": softplus}
"""The kernels by the problem's activation."""


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "activation_gradient"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("activation:*")

    def kernel(self, problem: ActivationGradient) -> ArrayKernel:
        """See `ArrayStrategy.kernel`."""
        return ArrayKernel(FUNCTIONS[problem.activation], problem.size)


class Threads(Loops):
    """Takes every problem."""

    name = "threads"
    parallel = True
    summary = "the same loop on every core"


STRATEGIES = (Loops(), Threads())
