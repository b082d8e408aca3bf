"""`tile_adjacent`: two neighbouring inputs and positions a thread.

Not faster than `tile_input` with as many threads on two runs of columns would be, but slower:
it shows what it costs where the loads and stores of a warp are not neighbours in memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
sections 6.1 (memory coalescing) and 6.3 (thread coarsening), on the tiles of section 7.4.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d.gpu._tile_accesses import loads_and_results, tap_reads
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, results_of

_EACH = 2
"""Neighbours of a thread."""


class TileAdjacent(TiledConv2d):
    """A weight that is read serves two positions, and every access has a gap beside it."""

    name = "tile_adjacent"
    summary = "two neighbouring inputs and outputs a thread: what uncoalesced accesses cost"
    tunables = (Tunable("TILE_Y", (4, 8, 16, 32), 16), Tunable("TILE_X", (8, 16, 32), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        """TILE_Y x TILE_X threads, and twice as many columns of inputs."""
        threads = config["TILE_Y"], config["TILE_X"]
        loaded = threads[0], _EACH * threads[1]
        positions = (
            (loaded[0] - problem.mask[0]) // problem.stride[0] + 1,
            (loaded[1] - problem.mask[1]) // problem.stride[1] + 1,
        )
        return Tile(threads, positions, loaded, results_of(problem, positions), adjacent=_EACH)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The tile of each channel, half of it a load; then a weight and two inputs a tap."""
        tile = self.tile(problem, config)
        return {self.kernel(): loads_and_results(problem, tile) + tap_reads(problem, tile)}


STRATEGY = TileAdjacent()
