"""The base of the GPU strategies of `convert`: the macros, and a grid over threads."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.convert import Convert
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = (2**31 - 1) * 64
"""Elements that a grid of the smallest blocks covers."""


class GpuConvert(GpuStrategy):
    """A GPU strategy of `convert`."""

    operation = "convert"
    takes = features("given:* made:*")
    wide_indices = True
    tunables = (Tunable("THREADS", (64, 128, 256, 512), 256),)

    def limits(self, problem: Convert) -> str | None:
        """More elements than a grid covers."""
        return f"{problem.size} elements, at most {_MOST}" if problem.size > _MOST else None

    def macros(self, problem: Convert, config: Config) -> dict[str, int | str]:
        return {
            "BFLOAT16": int("bfloat16" in (problem.given, problem.made)),
            "WIDENS": int(problem.made == "float32"),
            "NARROWS": int(problem.given == "float32"),
            **config,
        }

    def over(self, problem: Convert, each: int, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread for ``each`` elements."""
        grid = (blocks(blocks(problem.size, each), config["THREADS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        names = (array.name for array in problem.arrays)
        return (Step(launch, (*names, np.int64(problem.size))),)
