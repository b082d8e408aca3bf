"""`tile_output`: shared-memory tiles, a thread for each output of the tile.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 7.4: the block covers the output tile and loads the larger input tile in
several steps.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels, filter_tile, result_tile, window
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d.gpu._tile_accesses import loads_and_results, tap_reads
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, inputs_of, results_of


class TileOutput(TiledConv2d):
    """No thread idles in the sum; the loads take several steps."""

    name = "tile_output"
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
        return {self.kernel(): loads_and_results(problem, tile) + tap_reads(problem, tile)}

    def picture(self, problem: Conv2d, config: Config) -> Panels:
        """The tile in the rounds in which its threads load it."""
        tile, (rows, columns) = self.tile(problem, config), problem.output_size
        across, (down, right) = tile.loaded[1], problem.stride
        i, j = (size // 2 for size in tile.positions)
        first = -problem.padding[0], -problem.padding[1]
        return (
            filter_tile(
                "x, by the thread that loads it",
                (problem.height, problem.width),
                first,
                tile.loaded,
                (tile.positions[0] * down, tile.positions[1] * right),
                lambda p, q: (p * across + q) % tile.thread_count,
                window((i * down, j * right), problem.mask),
            ),
            result_tile(
                "out", (rows, columns), tile.results, lambda p, q: p * tile.threads[1] + q, (i, j)
            ),
        )


STRATEGY = TileOutput()
