"""The base of the GPU strategies of `linear_gradient`: the macros of the problem."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.contract.gpu import Config, GpuStrategy


class GpuLinearGradient(GpuStrategy):
    """A GPU strategy of `linear_gradient`; takes every problem."""

    operation = "linear_gradient"
    takes = features("activation:* before:*")

    def macros(self, problem: LinearGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, the activations and the tunables."""
        return {
            "INPUTS": problem.inputs,
            "OUTPUTS": problem.outputs,
            "ACTIVATION": ACTIVATION_CODES[problem.activation],
            "BEFORE": ACTIVATION_CODES[problem.before],
            **config,
        }


ARGUMENTS = ("x", "y", "dy", "weights", "dx", "dweights", "dbias")
"""The arrays, in the order of the kernels' arguments."""
