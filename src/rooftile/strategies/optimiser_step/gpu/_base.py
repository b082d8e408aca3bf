"""The base of the GPU strategies of `optimiser_step`: the macros, and a grid over parameters."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.optimiser_step import EPSILON, SQUARE_DECAY, OptimiserStep
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = 2**31 - 4096
"""Parameters that an index of 32 bits reaches, with a block beyond the last one."""


class GpuOptimiserStep(GpuStrategy):
    """A GPU strategy of `optimiser_step`."""

    operation = "optimiser_step"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def limits(self, problem: OptimiserStep) -> str | None:
        """More parameters than an index reaches."""
        return f"{problem.size} parameters, at most {_MOST}" if problem.size > _MOST else None

    def macros(self, problem: OptimiserStep, config: Config) -> dict[str, int | str]:
        momentum = problem.momentum
        return {
            "ADAM": int(problem.optimizer == "adam"),
            "DECAYED": problem.decayed,
            "MOMENTUM": f"{momentum!r}f",
            "MEAN_SHARE": f"{float(np.float32(1 - momentum))!r}f",
            "SQUARE_SHARE": f"{float(np.float32(1 - SQUARE_DECAY))!r}f",
            "EPSILON": f"{EPSILON!r}f",
            **config,
        }

    def over(
        self, problem: OptimiserStep, what: str, arguments: tuple[str, ...], config: Config
    ) -> Step:
        """A kernel with a thread for each parameter."""
        grid, block = (blocks(problem.size, config["BLOCK"]), 1, 1), (config["BLOCK"], 1, 1)
        launch = Launch(self.kernel(what), grid, block, overlaps=True)
        return Step(launch, (*arguments, np.int32(problem.size)))


def new(names: tuple[str, ...]) -> tuple[str, ...]:
    """The arrays that take what is new of some."""
    return tuple(f"new_{name}" for name in names)
