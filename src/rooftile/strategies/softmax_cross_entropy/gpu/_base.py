"""The base of the GPU strategies of `softmax_cross_entropy`: the macros, and the arguments."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies.contract.gpu import Config, GpuStrategy


def arguments(problem: SoftmaxCrossEntropy) -> tuple[str | int, ...]:
    """The kernels' arguments; where there are no weights nobody reads what stands for them."""
    weights = "weights" if problem.weighted else "x"
    return ("x", "labels", weights, "loss", "dx", problem.batch)


class GpuSoftmaxCrossEntropy(GpuStrategy):
    """A GPU strategy of `softmax_cross_entropy`; takes every problem."""

    operation = "softmax_cross_entropy"
    takes = features("weighted ignored")

    def macros(self, problem: SoftmaxCrossEntropy, config: Config) -> dict[str, int | str]:
        return {
            "CLASSES": problem.classes,
            "DIVISOR": f"{problem.divisor}.0f",
            "IGNORED": f"({problem.ignored})",
            "WEIGHTED": int(problem.weighted),
            **config,
        }
