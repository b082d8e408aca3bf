"""`double`: one dot product for each element, in float64, over the cores."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double
from rooftile.strategies.matmul.cpu.loops import pitches


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "matmul"
    takes = features("dtype:float64 transpose_a transpose_b")
    summary = "float64: one dot product an element, over the cores"

    def kernel(self, problem: Matmul) -> ArrayKernel:
        """See `ArrayStrategy.kernel`."""
        sizes = (problem.inner, problem.columns, *pitches(problem))
        return ArrayKernel(double.products, problem.rows * problem.columns, sizes)


STRATEGY = Double()
