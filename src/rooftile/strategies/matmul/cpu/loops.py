"""One dot product for each element, on one thread, and in float64 over the cores. Source: PMPP,
section 3.4."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common import double


@native
def dot_products(a, b, out, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are results.  ``sizes``: inner, columns; how far apart a's rows lie and its terms,
    b's terms and its columns."""
    inner, columns = sizes[0], sizes[1]
    for unit in range(begin, end):
        i, j = unit // columns, unit % columns
        total = a[i * sizes[2]] * b[j * sizes[5]]
        for k in range(1, inner):
            total += a[i * sizes[2] + k * sizes[3]] * b[k * sizes[4] + j * sizes[5]]
        out[unit] = total


def pitches(problem: Matmul) -> tuple[int, int, int, int]:
    """Strides of a's rows and terms, and of b's terms and columns."""
    a = (1, problem.rows) if problem.transpose_a else (problem.inner, 1)
    b = (1, problem.inner) if problem.transpose_b else (problem.columns, 1)
    return (*a, *b)


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "matmul"
    name = "loops"
    parallel = False
    summary = "rows, columns, terms: one dot product an element, one thread"
    takes = features("transpose_a transpose_b")

    def kernel(self, problem: Matmul) -> ArrayKernel:
        sizes = (problem.inner, problem.columns, *pitches(problem))
        return ArrayKernel(dot_products, problem.rows * problem.columns, sizes)


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "matmul"
    takes = features("dtype:float64 transpose_a transpose_b")
    summary = "float64: one dot product an element, over the cores"

    def kernel(self, problem: Matmul) -> ArrayKernel:
        sizes = (problem.inner, problem.columns, *pitches(problem))
        return ArrayKernel(double.products, problem.rows * problem.columns, sizes)


STRATEGIES = (Loops(), Double())
