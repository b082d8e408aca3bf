"""`two_by_two`: a thread makes 2 x 2 results.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 6.3
(thread coarsening), in both directions.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.gemm.gpu.accesses import of_tiles
from rooftile.strategies.matmul.gpu._base import TiledMatmul


class TwoByTwo(TiledMatmul):
    """Takes every problem."""

    name = "two_by_two"
    summary = "2 x 2 results a thread: half of the reads of shared memory"
    tunables = (Tunable("HALF", (8, 16), 16),)

    def tile(self, problem: Matmul, config: Config) -> tuple[int, int]:
        """See `TiledProduct.tile`."""
        return 2 * config["HALF"], 2 * config["HALF"]

    def block(self, problem: Matmul, config: Config) -> tuple[int, int, int]:
        """A thread for four results."""
        return config["HALF"], config["HALF"], 1

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A step reads two values of b a lane, and two of a for a row of lanes, four steps at a
        time."""
        half, reads = config["HALF"], 2 + 2 / 4
        found = of_tiles(
            problem, self.tile(problem, config), (half, half, half), (half, half), reads
        )
        return {self.kernel(): found}


STRATEGY = TwoByTwo()
