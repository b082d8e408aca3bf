"""`double`: the seven textbook loops in float64, over the cores."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.conv2d.cpu.loops import Textbook, pool_codes
from rooftile.strategies.conv2d.sizes import BOUNDARY_CODES


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "conv2d"
    takes = features("dtype:float64") | Textbook.takes
    summary = "float64: the seven textbook loops, over the cores"

    def kernel(self, problem: Conv2d) -> ArrayKernel:
        p, (rows, columns), (kind, after) = problem, problem.output_size, pool_codes(problem)
        window, stride = (p.pool.window, p.pool.stride) if p.pool else ((1, 1), (1, 1))
        sizes = (
            p.channels, 1, p.height, p.width, p.maps, 1, rows, columns, 1, *p.mask,
            0, *p.stride, *p.padding, 1, BOUNDARY_CODES[p.boundary],
            ACTIVATION_CODES[p.activation], kind, *window, *stride, after, p.groups, *p.dilation,
        )  # fmt: skip
        return ArrayKernel(double.correlated_rows, p.batch * p.maps * rows, sizes)


STRATEGY = Double()
