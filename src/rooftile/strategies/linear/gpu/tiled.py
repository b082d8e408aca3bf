"""Rung 2, `tiled`: square tiles of both matrices in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 5.4, with the boundary checks of section 5.5.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies._grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear


class Tiled(GpuLinear):
    """A value that was read from global memory serves TILE threads."""

    name = "tiled"
    order = 2
    summary = "square tiles of inputs and weights in shared memory"
    tunables = (Tunable("TILE", (8, 16, 32), 16),)

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output."""
        tile = config["TILE"]
        grid = (blocks(problem.outputs, tile) * blocks(problem.batch, tile), 1, 1)
        launch = Launch("linear", grid, (tile, tile, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)


STRATEGY = Tiled()
