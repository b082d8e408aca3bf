"""`double`: one dot product for each row, in float64, over the cores."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "matvec"
    takes = features("dtype:float64 transpose")
    summary = "float64: one dot product a row, over the cores"

    def kernel(self, problem: Matvec) -> ArrayKernel:
        apart = (1, problem.rows) if problem.transpose else (problem.columns, 1)
        return ArrayKernel(double.products, problem.rows, (problem.columns, 1, *apart, 1, 1))


STRATEGY = Double()
