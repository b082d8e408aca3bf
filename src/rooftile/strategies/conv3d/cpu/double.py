"""`double`: the textbook's loops in float64, over the cores."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double
from rooftile.strategies.conv3d.cpu.loops import lead


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "conv3d"
    takes = features("dtype:float64 boundary:valid form:*")
    summary = "float64: the textbook's loops, over the cores"

    def kernel(self, problem: Conv3d) -> ArrayKernel:
        p, (front, top, left) = problem, lead(problem)
        planes, rows, _ = p.output_size
        sizes = (
            p.channels, *p.size, p.maps, *p.output_size, *p.mask,
            front, 1, 1, top, left, 0, 0, *double.PLAIN,
        )  # fmt: skip
        return ArrayKernel(double.correlated, p.batch * p.maps * planes * rows, sizes)


STRATEGY = Double()
