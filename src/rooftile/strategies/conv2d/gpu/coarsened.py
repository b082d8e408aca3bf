"""`coarsened`: several outputs a thread. Source: PMPP, section 6.3 (thread coarsening) on the tiles
of section 7.4."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, linear_loads, warps_of
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d.gpu._tile_accesses import (
    loads_and_results,
    tap_conflicts,
    tile_passes,
)
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d, inputs_of, results_of

_MOST_SUMS = 32
"""Sums a thread, so that a block of 1024 has registers enough."""


class Coarsened(TiledConv2d):
    """A thread sums THREAD_MAPS maps at THREAD_COLUMNS positions of its row."""

    name = "coarsened"
    summary = "several maps and columns a thread, so a value read from shared memory is used more"
    tunables = (
        Tunable("TILE_Y", (4, 8, 16), 8),
        Tunable("TILE_X", (16, 32), 32),
        Tunable("THREAD_COLUMNS", (1, 2, 4), 2),
        Tunable("THREAD_MAPS", (1, 2, 4, 8), 4),
    )

    def tile(self, problem: Conv2d, config: Config) -> Tile:
        threads = config["TILE_Y"], config["TILE_X"]
        positions = threads[0], threads[1] * config["THREAD_COLUMNS"]
        maps = config["THREAD_MAPS"]
        return Tile(
            threads,
            positions,
            inputs_of(problem, positions),
            results_of(problem, positions),
            maps,
            weights=maps * problem.mask[0] * problem.mask[1],
        )

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        sums = config["THREAD_COLUMNS"] * config["THREAD_MAPS"]
        if sums > _MOST_SUMS:
            return f"{sums} sums a thread, at most {_MOST_SUMS}"
        return super().invalid(problem, config)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Inputs and weights of each channel; under a tap a thread reads an input of each of its
        columns, and its maps' weights four at a time."""
        tile, taps = self.tile(problem, config), problem.mask[0] * problem.mask[1]
        passes = tile_passes(problem, tile)
        weights = linear_loads(passes * tile.weights, taps)
        reads = config["THREAD_COLUMNS"] * tap_conflicts(problem, tile) + blocks(tile.maps, 4)
        shared = Accesses(shared_reads=passes * warps_of(tile.thread_count) * taps * reads)
        return {self.kernel(): loads_and_results(problem, tile) + weights + shared}


STRATEGY = Coarsened()
