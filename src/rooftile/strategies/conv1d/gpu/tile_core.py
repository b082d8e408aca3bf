"""`tile_core`: only the tile's core in shared memory, the halo from the cache.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.5,
for one axis.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv1d.gpu._accesses import core_tile
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d


class TileCore(ConstantConv1d):
    """Input and output tile are of one size; a neighbour's core is likely in a cache."""

    name = "tile_core"
    summary = "the tile's core in shared memory, the halo from global memory"

    def tile(self, problem: Conv1d, config: Config) -> int:
        """An output for each thread."""
        return config["BLOCK"]

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The core once, then an input a tap from shared memory or from the halo."""
        return {self.kernel(): core_tile(problem, config["BLOCK"])}


STRATEGY = TileCore()
