"""`tile_core`: only the core of the tile in shared memory, the halo from the cache.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 7.5 and figure 7.15.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d.gpu._tile_accesses import halo_reads, loads_and_results, tap_reads
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, results_of


class TileCore(TiledConv2d):
    """Input and output tile are of one size; a neighbour's core is likely in the L2 cache."""

    name = "tile_core"
    summary = "the tile's core in shared memory, halo cells from global memory"
    tunables = (Tunable("TILE_Y", (4, 8, 16, 32), 16), Tunable("TILE_X", (16, 32, 64), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        """Threads and positions are TILE_Y x TILE_X, inputs a stride's worth of each."""
        positions = config["TILE_Y"], config["TILE_X"]
        core = positions[0] * problem.stride[0], positions[1] * problem.stride[1]
        return Tile(positions, positions, core, results_of(problem, positions))

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The core of each channel's tile; then a weight a tap, and an input of core or halo."""
        tile = self.tile(problem, config)
        centre = (problem.mask[0] - 1) // 2, (problem.mask[1] - 1) // 2
        found = loads_and_results(problem, tile, centre) + tap_reads(problem, tile)
        return {self.kernel(): found + halo_reads(problem, tile, centre)}


STRATEGY = TileCore()
