"""One dot product for each row, on one thread, and in float64 over the cores."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common import double


@native
def dot_products(a, x, y, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are rows.  ``sizes``: columns; how far apart a's rows lie, and its terms."""
    for i in range(begin, end):
        total = a[i * sizes[1]] * x[0]
        for j in range(1, sizes[0]):
            total += a[i * sizes[1] + j * sizes[2]] * x[j]
        y[i] = total


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "matvec"
    name = "loops"
    parallel = False
    summary = "one dot product a row, one thread"
    takes = features("transpose")

    def kernel(self, problem: Matvec) -> ArrayKernel:
        apart = (1, problem.rows) if problem.transpose else (problem.columns, 1)
        return ArrayKernel(dot_products, problem.rows, (problem.columns, *apart))


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "matvec"
    takes = features("dtype:float64 transpose")
    summary = "float64: one dot product a row, over the cores"

    def kernel(self, problem: Matvec) -> ArrayKernel:
        apart = (1, problem.rows) if problem.transpose else (problem.columns, 1)
        return ArrayKernel(double.products, problem.rows, (problem.columns, 1, *apart, 1, 1))


STRATEGIES = (Loops(), Double())
