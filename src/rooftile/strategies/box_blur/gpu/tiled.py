"""Rung 2, `tiled`: the bytes of a block's windows lie in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 7.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.box_blur import BoxBlur
from rooftile.strategies.box_blur.gpu._accesses import of_tiles
from rooftile.strategies.box_blur.gpu._base import GpuBoxBlur
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.gpu import Config, Step, Tunable


class Tiled(GpuBoxBlur):
    """Takes problems whose tile fits into shared memory."""

    name = "tiled"
    order = 2
    summary = "a tile with what its windows reach, in shared memory"
    tunables = (Tunable("ACROSS", (16, 32, 64), 32), Tunable("DOWN", (4, 8, 16), 16))

    def why_not(self, problem: BoxBlur) -> str | None:
        """The tile; the rows of a grid."""
        return self.invalid(problem, self.defaults(problem))

    def invalid(self, problem: BoxBlur, config: Config) -> str | None:
        """See `why_not`, of this tile."""
        across, down = config["ACROSS"], config["DOWN"]
        if blocks(problem.height, down) > MOST_BLOCKS:
            return f"{problem.height} rows, {down} a block, {MOST_BLOCKS} blocks at most"
        halo = 2 * problem.radius
        tile = (across + halo * problem.channels) * (down + halo)
        return beyond_block(across * down, tile)

    def steps(self, problem: BoxBlur, config: Config) -> tuple[Step, ...]:
        """One kernel."""
        across, down = config["ACROSS"], config["DOWN"]
        grid = (blocks(problem.columns, across), blocks(problem.height, down), 1)
        return self.one(problem, Launch("tiled", grid, (across, down, 1)))

    def accesses(self, problem: BoxBlur, config: Config) -> dict[str, Accesses]:
        """The tile and its halo once, the windows from shared memory."""
        return {"tiled": of_tiles(problem, config["ACROSS"], config["DOWN"])}


STRATEGY = Tiled()
