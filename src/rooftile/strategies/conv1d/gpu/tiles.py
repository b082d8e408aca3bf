"""Tiles of inputs in shared memory, by the ways to load their halo cells.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 3rd ed., section 7.4, and
4th ed., section 7.4, for one axis; Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors",
3rd ed., section 7.4, for one axis; PMPP, section 7.4 and figure 7.12, for one axis; PMPP, section
7.5, for one axis.
"""

from __future__ import annotations

from typing import ClassVar

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels, filter_tile, result_tile, window
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv1d.gpu._accesses import core_tile, input_tile, output_tile
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d


class _OutputTile(ConstantConv1d):
    """The block covers the output tile, and loads the input tile in ``parts``."""

    parts: ClassVar[int]

    def tile(self, problem: Conv1d, config: Config) -> int:
        return config["BLOCK"]

    def invalid(self, problem: Conv1d, config: Config) -> str | None:
        if problem.mask - 1 > config["BLOCK"]:
            return f"a halo of {problem.mask - 1}, {config['BLOCK']} threads bring it at once"
        return None

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The tile once, then an input a tap from shared memory."""
        return {self.kernel(): output_tile(problem, config["BLOCK"], parts=self.parts)}


class TileTwoLoads(_OutputTile):
    """As many inputs as threads, then the rest."""

    name = "tile_two_loads"
    summary = "input tiles in shared memory, loaded as one run in two parts"
    parts = 2

    def picture(self, problem: Conv1d, config: Config) -> Panels:
        """The tile's two parts by the threads that load them."""
        block, mask, halo = config["BLOCK"], problem.mask, problem.mask - 1
        one = block // 2
        return (
            filter_tile(
                "x, by the thread that loads it",
                (1, problem.length),
                (0, -problem.before),
                (1, block + halo),
                (1, block),
                lambda _, e: e % block,
                window((0, one), (1, mask)),
            ),
            result_tile("out", (1, problem.outputs), (1, block), lambda _, j: j, (0, one)),
        )


class TileThreeLoads(_OutputTile):
    """Left halo, core and right halo."""

    name = "tile_three_loads"
    summary = "input tiles in shared memory, loaded as left halo, core and right halo"
    parts = 3


class TileInput(ConstantConv1d):
    """The block covers the input tile, and MASK - 1 of its threads idle in the sum."""

    name = "tile_input"
    summary = "input tiles in shared memory, a thread an element of the tile, some idle in the sum"

    def tile(self, problem: Conv1d, config: Config) -> int:
        return config["BLOCK"] - problem.mask + 1

    def invalid(self, problem: Conv1d, config: Config) -> str | None:
        if problem.mask > config["BLOCK"]:
            return f"a tile of {config['BLOCK']} has no place for {problem.mask} taps"
        return None

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The tile once, then an input a tap from shared memory."""
        return {self.kernel(): input_tile(problem, config["BLOCK"])}


class TileCore(ConstantConv1d):
    """Input and output tile are of one size; a neighbour's core is likely in a cache."""

    name = "tile_core"
    summary = "the tile's core in shared memory, the halo from global memory"

    def tile(self, problem: Conv1d, config: Config) -> int:
        return config["BLOCK"]

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The core once, then an input a tap from shared memory or from the halo."""
        return {self.kernel(): core_tile(problem, config["BLOCK"])}


STRATEGIES = (TileTwoLoads(), TileThreeLoads(), TileInput(), TileCore())
