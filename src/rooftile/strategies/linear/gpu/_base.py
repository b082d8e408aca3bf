"""What the GPU strategies of `linear` share: the macros that stand for the problem."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.strategies.conv2d._fused import ACTIVATION_CODES
from rooftile.strategies.gpu import Config, GpuStrategy


class GpuLinear(GpuStrategy):
    """A GPU strategy of `linear`; takes every problem."""

    operation = "linear"

    def why_not(self, problem: Linear) -> str | None:
        """Takes everything."""
        return None

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        """The problem's sizes and the tunables."""
        return {
            "INPUTS": problem.inputs,
            "OUTPUTS": problem.outputs,
            "ACTIVATION": ACTIVATION_CODES[problem.activation],
            **config,
        }
