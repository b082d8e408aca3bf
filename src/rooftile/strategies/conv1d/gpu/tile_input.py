"""`tile_input`: a tile in shared memory, a thread for each of its elements.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.4
and figure 7.12, for one axis.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv1d.gpu._accesses import input_tile
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d


class TileInput(ConstantConv1d):
    """The block covers the input tile, and MASK - 1 of its threads idle in the sum."""

    name = "tile_input"
    summary = "input tiles in shared memory, a thread an element of the tile, some idle in the sum"

    def tile(self, problem: Conv1d, config: Config) -> int:
        """An output for each thread but the halo's."""
        return config["BLOCK"] - problem.mask + 1

    def invalid(self, problem: Conv1d, config: Config) -> str | None:
        if problem.mask > config["BLOCK"]:
            return f"a tile of {config['BLOCK']} has no place for {problem.mask} taps"
        return None

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The tile once, then an input a tap from shared memory."""
        return {self.kernel(): input_tile(problem, config["BLOCK"])}


STRATEGY = TileInput()
