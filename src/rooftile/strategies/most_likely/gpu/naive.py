"""`naive`: one thread a row of scores.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.layers.most_likely import MostLikely
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = 2**31 - 4096
"""Rows that an index of 32 bits reaches, with a block beyond the last one."""


class Naive(GpuStrategy):
    """Takes every problem of few classes well: neighbouring threads read rows apart."""

    operation = "most_likely"
    name = "naive"
    summary = "one thread a row of scores"
    wide_indices = True
    tunables = (Tunable("THREADS", (64, 128, 256, 512), 256),)

    def limits(self, problem: MostLikely) -> str | None:
        """More rows than an index reaches."""
        return f"{problem.images} rows, at most {_MOST}" if problem.images > _MOST else None

    def macros(self, problem: MostLikely, config: Config) -> dict[str, int | str]:
        return {"CLASSES": problem.classes, **config}

    def steps(self, problem: MostLikely, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a row."""
        grid = (blocks(problem.images, config["THREADS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        return (Step(launch, ("scores", "labels", np.int32(problem.images))),)


STRATEGY = Naive()
