"""`naive`: one thread an output, everything from global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 16.2 (subsampling after a convolution).
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import Accesses, linear_loads, linear_stores
from rooftile.analysis.divergence import guard_1d
from rooftile.devices.gpu import Launch
from rooftile.ops import Pool2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d.gpu._base import GpuPool2d


class Naive(GpuPool2d):
    """Each thread walks its own window; neighbours' reads lie a stride apart."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: Pool2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output."""
        grid = (blocks(math.prod(problem.output_shape), config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return self.one(problem, launch)

    def accesses(self, problem: Pool2d, config: Config) -> dict[str, Accesses]:
        """A lane a result reads its window."""
        results, pool = math.prod(problem.output_shape), problem.pool
        reads = results * math.prod(pool.window)
        found = linear_loads(reads, problem.output_shape[3], stride=pool.stride[1])
        last = len(guard_1d(results, 1, config["BLOCK"]))
        return {self.kernel(): found + linear_stores(results) + Accesses(divergent_warps=last)}


STRATEGY = Naive()
