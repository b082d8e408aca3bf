"""The base of the GPU strategies of `softmax_gradient`: the macros, and the arguments."""

from __future__ import annotations

from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.strategies.contract.gpu import Config, GpuStrategy

ARGUMENTS = ("y", "dy", "dx")
"""The arrays, in the order of the kernels' arguments."""


class GpuSoftmaxGradient(GpuStrategy):
    """A GPU strategy of `softmax_gradient`; takes every problem."""

    operation = "softmax_gradient"

    def macros(self, problem: SoftmaxGradient, config: Config) -> dict[str, int | str]:
        return {"CLASSES": problem.classes, **config}
