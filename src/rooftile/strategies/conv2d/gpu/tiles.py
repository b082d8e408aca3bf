"""Tiles of inputs in shared memory, a rung for each way to share them out over threads.

Source: PMPP, section 7.4: the block covers the output tile and loads the larger input tile in
several steps; PMPP, sections 6.1 (memory coalescing) and 6.3 (thread coarsening), on the tiles of
section 7.4; PMPP, section 7.4 and figure 7.12: the block covers the input tile, and the threads of
the halo idle in the sum; PMPP, section 7.5 and figure 7.15; PMPP, section 7.4 and figure 7.12,
whose mask is in constant memory.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels, filter_tile, result_tile, window
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._constant import ConstantWeights
from rooftile.strategies.conv2d.gpu._tile_accesses import (
    halo_reads,
    loads_and_results,
    tap_reads,
    tile_reads,
)
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, inputs_of, results_of


class _WholeTiles(TiledConv2d):
    """All inputs of a block's positions are in shared memory, and the weights in global memory."""

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The tile of each channel; then a weight a tap, and the inputs of each position."""
        tile = self.tile(problem, config)
        return {self.kernel(): loads_and_results(problem, tile) + tap_reads(problem, tile)}


class TileOutput(_WholeTiles):
    """No thread idles in the sum; the loads take several steps."""

    name = "tile_output"
    summary = "input tiles in shared memory, a thread a convolution output of the tile"
    tunables = (Tunable("TILE_Y", (4, 8, 16, 32), 16), Tunable("TILE_X", (16, 32, 64), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        positions = config["TILE_Y"], config["TILE_X"]
        inputs = inputs_of(problem, positions)
        return Tile(positions, positions, inputs, results_of(problem, positions))

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


_EACH = 2
"""Neighbours of a thread."""


class TileAdjacent(_WholeTiles):
    """A weight that is read serves two positions, and every access has a gap next to it.

    Not faster than `tile_input` with as many threads on two runs of columns would be, but slower:
    it shows what it costs where the loads and stores of a warp are not neighbours in memory.
    """

    name = "tile_adjacent"
    summary = "two neighbouring inputs and outputs a thread: what uncoalesced accesses cost"
    tunables = (Tunable("TILE_Y", (4, 8, 16, 32), 16), Tunable("TILE_X", (8, 16, 32), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        threads = config["TILE_Y"], config["TILE_X"]
        loaded = threads[0], _EACH * threads[1]
        positions = (
            (loaded[0] - problem.mask[0]) // problem.stride[0] + 1,
            (loaded[1] - problem.mask[1]) // problem.stride[1] + 1,
        )
        return Tile(threads, positions, loaded, results_of(problem, positions), adjacent=_EACH)


class TileInput(_WholeTiles):
    """Each thread loads one element; a block of 32 x 32 sums 26 x 26 outputs of a 7x7 mask."""

    name = "tile_input"
    summary = "input tiles in shared memory, a thread an input of the tile, some idle in the sum"
    tunables = (Tunable("TILE_Y", (8, 16, 32), 32), Tunable("TILE_X", (16, 32, 64), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        inputs = config["TILE_Y"], config["TILE_X"]
        positions = (
            (inputs[0] - problem.mask[0]) // problem.stride[0] + 1,
            (inputs[1] - problem.mask[1]) // problem.stride[1] + 1,
        )
        return Tile(inputs, positions, inputs, results_of(problem, positions))


class TileCore(TiledConv2d):
    """Input and output tile are of one size; a neighbour's core is likely in the L2 cache."""

    name = "tile_core"
    summary = "the tile's core in shared memory, halo cells from global memory"
    tunables = (Tunable("TILE_Y", (4, 8, 16, 32), 16), Tunable("TILE_X", (16, 32, 64), 32))

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        positions = config["TILE_Y"], config["TILE_X"]
        core = positions[0] * problem.stride[0], positions[1] * problem.stride[1]
        return Tile(positions, positions, core, results_of(problem, positions))

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The core of each channel's tile; then a weight a tap, and an input of core or halo."""
        tile = self.tile(problem, config)
        centre = (problem.mask[0] - 1) // 2, (problem.mask[1] - 1) // 2
        found = loads_and_results(problem, tile, centre) + tap_reads(problem, tile)
        return {self.kernel(): found + halo_reads(problem, tile, centre)}


class TileConstant(ConstantWeights, TileInput):
    """The tile of `tile_input`."""

    name = "tile_constant"
    summary = "input tiles in shared memory, a thread an input, weights in constant memory"

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        (whole,) = TileInput.steps(self, problem, config)
        return self.slices(problem, config, whole.launch)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The tile of each channel; then an input a tap: weights come by the constant cache."""
        tile = self.tile(problem, config)
        return {self.kernel(): loads_and_results(problem, tile) + tile_reads(problem, tile)}


STRATEGIES = (TileOutput(), TileAdjacent(), TileInput(), TileCore(), TileConstant())
