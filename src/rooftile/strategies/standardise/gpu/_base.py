"""The base of the GPU strategies of `standardise`: the macros, and a grid over threads."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.standardise import Standardise
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = (2**31 - 1) * 64
"""Elements that a grid of the smallest blocks covers."""


class GpuStandardise(GpuStrategy):
    """A GPU strategy of `standardise`."""

    operation = "standardise"
    wide_indices = True
    tunables = (Tunable("THREADS", (64, 128, 256, 512), 256),)

    def limits(self, problem: Standardise) -> str | None:
        """More elements than a grid covers."""
        return f"{problem.size} elements, at most {_MOST}" if problem.size > _MOST else None

    def macros(self, problem: Standardise, config: Config) -> dict[str, int | str]:
        return {"PLANE": problem.plane, "TABLES": problem.tables, **config}

    def over(self, problem: Standardise, each: int, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread for ``each`` elements."""
        grid = (blocks(blocks(problem.size, each), config["THREADS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        names = (array.name for array in problem.arrays)
        return (Step(launch, (*names, np.int64(problem.size))),)
