"""`naive`: one thread a window.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.nearest_places import NearestPlaces
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_MOST = (2**31 - 1) * 64
"""Windows that a grid of the smallest blocks covers."""


class Naive(GpuStrategy):
    """Each place is read and written once, by neighbouring threads at neighbouring addresses."""

    operation = "nearest_places"
    name = "naive"
    summary = "one thread a window"
    wide_indices = True
    tunables = (Tunable("THREADS", (64, 128, 256, 512), 256),)

    def limits(self, problem: NearestPlaces) -> str | None:
        """More windows than a grid covers."""
        count = problem.arrays[0].size
        return f"{count} windows, at most {_MOST}" if count > _MOST else None

    def steps(self, problem: NearestPlaces, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a window."""
        count, pool = problem.arrays[0].size, problem.pool
        grid = (blocks(count, config["THREADS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        sizes = (*problem.output_size, problem.width, *pool.window, *pool.stride)
        return (Step(launch, ("where", "nearest", *map(np.int32, sizes), np.int64(count))),)


STRATEGY = Naive()
