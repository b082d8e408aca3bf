"""`tile_input`: shared-memory tiles, a thread for each input of the tile.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 7.4 and figure 7.12: the block covers the input tile, and the threads of the
halo idle in the sum.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d.gpu._tile_accesses import loads_and_results, tap_reads
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, results_of


class TileInput(TiledConv2d):
    """Each thread loads one element; a block of 32 x 32 sums 26 x 26 outputs of a 7x7 mask."""

    name = "tile_input"
    summary = "input tiles in shared memory, a thread an input of the tile, some idle in the sum"
    tunables = (Tunable("TILE_Y", (8, 16, 32), 32), Tunable("TILE_X", (16, 32, 64), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        """Threads and inputs are TILE_Y x TILE_X."""
        inputs = config["TILE_Y"], config["TILE_X"]
        positions = (
            (inputs[0] - problem.mask[0]) // problem.stride[0] + 1,
            (inputs[1] - problem.mask[1]) // problem.stride[1] + 1,
        )
        return Tile(inputs, positions, inputs, results_of(problem, positions))

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The tile of each channel; then an input and a weight a tap."""
        tile = self.tile(problem, config)
        return {self.kernel(): loads_and_results(problem, tile) + tap_reads(problem, tile)}


STRATEGY = TileInput()
