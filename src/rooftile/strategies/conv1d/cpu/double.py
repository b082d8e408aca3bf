"""`double`: the textbook's loops in float64, over the cores."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "conv1d"
    takes = features("dtype:float64 boundary:*")
    summary = "float64: one output after the other, over the cores"

    def kernel(self, problem: Conv1d) -> ArrayKernel:
        p = problem
        boundary = {"replicate": 1, "interior": 2}.get(p.boundary, 0)
        sizes = (
            p.channels, 1, 1, p.length, p.maps, 1, 1, p.outputs, 1, 1, p.mask,
            0, 1, 1, 0, p.before, 0, boundary, *double.PLAIN,
        )  # fmt: skip
        return ArrayKernel(double.correlated, p.rows, sizes)


STRATEGY = Double()
