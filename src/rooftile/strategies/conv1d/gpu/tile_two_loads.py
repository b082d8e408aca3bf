"""`tile_two_loads`: a tile in shared memory as one run, loaded in two parts.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 3rd ed., section 7.4,
and 4th ed., section 7.4, for one axis.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.pictures import Panels, filter_tile, result_tile, window
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv1d.gpu._accesses import output_tile
from rooftile.strategies.conv1d.gpu._base import ConstantConv1d


class TileTwoLoads(ConstantConv1d):
    """The block covers the output tile."""

    name = "tile_two_loads"
    summary = "input tiles in shared memory, loaded as one run in two parts"

    def tile(self, problem: Conv1d, config: Config) -> int:
        """An output for each thread."""
        return config["BLOCK"]

    def invalid(self, problem: Conv1d, config: Config) -> str | None:
        if problem.mask - 1 > config["BLOCK"]:
            return f"a halo of {problem.mask - 1}, {config['BLOCK']} threads bring it at once"
        return None

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """The tile once, then an input a tap from shared memory."""
        return {self.kernel(): output_tile(problem, config["BLOCK"], parts=2)}

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


STRATEGY = TileTwoLoads()
