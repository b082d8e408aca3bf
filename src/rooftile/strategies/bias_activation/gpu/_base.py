"""The base of the GPU strategies of `bias_activation`: the macros, and a grid over threads."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = 2**31 - 4096
"""Elements that an index of 32 bits reaches, with a block beyond the last one."""


class GpuBiasActivation(GpuStrategy):
    """A GPU strategy of `bias_activation`."""

    operation = "bias_activation"
    takes = features("activation:* bias")
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def limits(self, problem: BiasActivation) -> str | None:
        """More elements than an index reaches."""
        return f"{problem.size} elements, at most {_MOST}" if problem.size > _MOST else None

    def macros(self, problem: BiasActivation, config: Config) -> dict[str, int | str]:
        return {
            "ACTIVATION": ACTIVATION_CODES[problem.activation],
            "COLUMNS": problem.columns,
            "BIASED": int(problem.bias),
            **config,
        }

    def over(self, problem: BiasActivation, each: int, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread for ``each`` elements."""
        grid = (blocks(blocks(problem.size, each), config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1), overlaps=True)
        bias = ("bias",) if problem.bias else ()
        return (Step(launch, ("x", *bias, "y", np.int32(problem.size))),)
