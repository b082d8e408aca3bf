"""What the GPU strategies of `softmax_cross_entropy` share: the macros, and the arguments."""

from __future__ import annotations

from rooftile.ops.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies.gpu import Config, GpuStrategy

ARGUMENTS = ("x", "labels", "loss", "dx")
"""The arrays, in the order of the kernels' arguments."""


class GpuSoftmaxCrossEntropy(GpuStrategy):
    """A GPU strategy of `softmax_cross_entropy`; takes every problem."""

    operation = "softmax_cross_entropy"

    def macros(self, problem: SoftmaxCrossEntropy, config: Config) -> dict[str, int | str]:
        """The row's length, the divisor and the tunables."""
        return {"CLASSES": problem.classes, "DIVISOR": f"{problem.divisor}.0f", **config}
