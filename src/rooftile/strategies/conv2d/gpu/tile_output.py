"""Rung 4, `tile_output`: shared-memory tiles, a thread for each output of the tile.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 7.4: the block covers the output tile and loads the larger input tile in
several steps.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.gpu._tile_accesses import loads_and_results, tap_reads
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, inputs_of, results_of
from rooftile.strategies.gpu import Config, Tunable


class TileOutput(TiledConv2d):
    """No thread idles in the sum; the loads take several steps."""

    name = "tile_output"
    order = 4
    summary = "input tiles in shared memory, a thread a convolution output of the tile"
    tunables = (Tunable("TILE_Y", (4, 8, 16, 32), 16), Tunable("TILE_X", (16, 32, 64), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        """Threads and positions are TILE_Y x TILE_X."""
        positions = config["TILE_Y"], config["TILE_X"]
        inputs = inputs_of(problem, positions)
        return Tile(positions, positions, inputs, results_of(problem, positions))

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The tile of each channel; then an input and a weight a tap."""
        tile = self.tile(problem, config)
        return {"conv2d": loads_and_results(problem, tile) + tap_reads(problem, tile)}


STRATEGY = TileOutput()
