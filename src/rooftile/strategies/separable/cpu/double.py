"""`double`: both passes of one output after the other in float64, over the cores."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "separable"
    takes = features("dtype:float64 boundary:*")
    summary = "float64: both sums of one output after the other, over the cores"

    def kernel(self, problem: Separable) -> ArrayKernel:
        p = problem
        replicate = int(p.boundary == "replicate")
        sizes = (p.height, p.width, *p.output_size, *p.mask, *p.before, replicate)
        return ArrayKernel(double.separated, p.batch * p.output_size[0], sizes)


STRATEGY = Double()
