"""The base of the GPU strategies of `activation_gradient`: the macros, and a grid over threads."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


class GpuActivationGradient(GpuStrategy):
    """A GPU strategy of `activation_gradient`; takes every problem."""

    operation = "activation_gradient"
    takes = features("activation:*")

    def macros(self, problem: ActivationGradient, config: Config) -> dict[str, int | str]:
        return {"ACTIVATION": ACTIVATION_CODES[problem.activation], **config}

    def over(self, problem: ActivationGradient, each: int, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread for ``each`` elements."""
        threads = blocks(problem.size, each)
        grid = (blocks(threads, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("y", "dy", "dx", problem.size)),)
