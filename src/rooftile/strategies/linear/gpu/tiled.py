"""`tiled`: square tiles of both matrices in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 5.4, with the boundary checks of section 5.5.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.analysis.traffic import matmul_tile
from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear


class Tiled(GpuLinear):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled"
    summary = "square tiles of inputs and weights in shared memory"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output."""
        tile = config["TILE"]
        grid = (blocks(problem.outputs, tile) * blocks(problem.batch, tile), 1, 1)
        launch = Launch(self.kernel(), grid, (tile, tile, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Linear, config: Config) -> dict[str, Accesses]:
        """The textbook's count of loads; a step reads a weight a lane, and an input for a row of
        lanes, four steps at a time."""
        tile, launch = config["TILE"], self.steps(problem, config)[0].launch
        lanes, alignment = min(tile, WARP), math.gcd(problem.inputs, SECTOR_FLOATS)
        tiles = matmul_tile(problem.batch, problem.inputs, problem.outputs, tile, tile)
        rows = tiles.loads / problem.inputs
        warps = launch.grid[0] * warps_of(launch.threads)
        found = row_loads(problem.inputs, rows, lanes=lanes, alignment=alignment)
        found += broadcasts(warps)
        found += row_stores(problem.outputs, problem.batch, lanes=lanes)
        reads = warps * blocks(problem.inputs, tile) * tile * (1 + 1 / 4)
        guard = guard_2d(problem.outputs, problem.batch, tile, tile)
        return {self.kernel(): found + Accesses(shared_reads=reads, divergent_warps=guard)}


STRATEGY = Tiled()
