"""`loops`: one element after the other, on one thread. Source: PMPP, section 2.3."""

from __future__ import annotations

import numpy as np

from rooftile.devices.cpu.native import native, values_of
from rooftile.ops.features import features
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def add(x, y, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements; integers wrap around."""
    for i in range(begin, end):
        out[i] = np.add(x[i], y[i])


@native
def add_bool(x, y, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements, 0 or 1."""
    for i in range(begin, end):
        out[i] = x[i] | y[i]


@native
def axpy(x, y, alpha, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        out[i] = alpha[0] * x[i] + y[i]


@native
def axpy_narrow(x, y, alpha, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements of 16 bits: ``out`` rounds the product, then the sum."""
    for i in range(begin, end):
        out[i] = alpha[0] * x[i]
        out[i] = out[i] + y[i]


@native
def scale(x, alpha, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are elements."""
    for i in range(begin, end):
        out[i] = alpha[0] * x[i]


FUNCTIONS = {"add": add, "axpy": axpy, "scale": scale}
"""The kernels by the problem's function."""


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "elementwise"
    name = "loops"
    parallel = False
    summary = "one element after the other, on one thread"
    takes = features("dtype:*")

    def kernel(self, problem: Elementwise) -> ArrayKernel:
        function = add_bool if problem.dtype == "bool" else FUNCTIONS[problem.function]
        if problem.function == "axpy" and values_of(problem.dtype) != problem.dtype:
            function = axpy_narrow
        return ArrayKernel(function, problem.count, calculates=True)


STRATEGIES = loops_and_threads(Loops(), "the same loop on every core")
