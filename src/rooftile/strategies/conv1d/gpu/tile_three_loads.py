"""`tile_three_loads`: a tile in shared memory: left halo, core, right halo.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 3rd ed., section 7.4,
for one axis.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv1d.gpu._accesses import output_tile
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d


class TileThreeLoads(ConstantConv1d):
    """The block covers the output tile."""

    name = "tile_three_loads"
    summary = "input tiles in shared memory, loaded as left halo, core and right halo"

    def tile(self, problem: Conv1d, config: Config) -> int:
        """An output for each thread."""
        return config["BLOCK"]

    def invalid(self, problem: Conv1d, config: Config) -> str | None:
        if problem.mask - 1 > config["BLOCK"]:
            return f"a halo of {problem.mask - 1}, {config['BLOCK']} threads bring it at once"
        return None

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The tile once, then an input a tap from shared memory."""
        return {self.kernel(): output_tile(problem, config["BLOCK"], parts=3)}


STRATEGY = TileThreeLoads()
