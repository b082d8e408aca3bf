"""`double`: one dot product for each output, in float64, over the cores."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.strategies import ArrayKernel
from rooftile.strategies.common import double
from rooftile.strategies.common.fused import ACTIVATION_CODES


class Double(double.Double):
    """Takes every problem of float64."""

    operation = "linear"
    takes = features("dtype:float64 activation:*")
    summary = "float64: one dot product an output, over the cores"

    def kernel(self, problem: Linear) -> ArrayKernel:
        """See `ArrayStrategy.kernel`."""
        sizes = (problem.inputs, problem.outputs, ACTIVATION_CODES[problem.activation])
        return ArrayKernel(double.layer, problem.batch * problem.outputs, sizes)


STRATEGY = Double()
