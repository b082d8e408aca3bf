"""The base of the GPU strategies of `loss_gradient`: the macros, and the arguments."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.strategies.contract.gpu import Config, GpuStrategy

ARGUMENTS = ("y", "targets", "targets", "loss", "dy")
"""The arrays, in the order of the kernels' arguments: targets as labels, and as numbers."""
_KINDS = {
    "sigmoid_cross_entropy": 0,
    "squared_error": 1,
    "half_squared_error": 1,
    "missed": 2,
    "squared_distance": 3,
}


class GpuLossGradient(GpuStrategy):
    """A GPU strategy of `loss_gradient`; takes every problem."""

    operation = "loss_gradient"
    takes = features(
        "loss:half_squared_error,missed,sigmoid_cross_entropy,squared_distance numbers"
    )

    def macros(self, problem: LossGradient, config: Config) -> dict[str, int | str]:
        return {
            "KIND": _KINDS[problem.loss],
            "FACTOR": f"{problem.factor!r}f",
            "OUTPUTS": problem.outputs,
            "NUMBERS": int(problem.numbers),
            **config,
        }
