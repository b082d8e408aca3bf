"""The base of the GPU strategies of `dropout`: the macros, and a grid over threads."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.layers.dropout import Dropout
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = 2**31 - 4096
"""Elements that an index of 32 bits reaches, with a block beyond the last one."""


class GpuDropout(GpuStrategy):
    """A GPU strategy of `dropout`."""

    operation = "dropout"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def limits(self, problem: Dropout) -> str | None:
        """More elements than an index reaches."""
        return f"{problem.size} elements, at most {_MOST}" if problem.size > _MOST else None

    def macros(self, problem: Dropout, config: Config) -> dict[str, int | str]:
        return {
            "SEED": f"{problem.seed & 0xFFFFFFFF}u",
            "OTHER_SEED": f"{problem.seed >> 32}u",
            "LAYER": problem.layer,
            "DROPPED": f"{problem.dropped}u",
            "ENLARGED": f"{float(problem.enlarged)!r}f",
            **config,
        }

    def over(self, problem: Dropout, each: int, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread for ``each`` elements."""
        grid = (blocks(blocks(problem.size, each), config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "y", "rates", "step", np.int32(problem.size))),)
