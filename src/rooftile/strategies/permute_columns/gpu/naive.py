"""A thread an element, its column's number from global or from shared memory."""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, row_loads, warps_of
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.permute_columns.gpu._base import GpuPermuteColumns


class Naive(GpuPermuteColumns):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an element: writes are coalesced, reads wherever the index sends them"
    tunables = (Tunable("ACROSS", (32, 64, 128), 32), Tunable("DOWN", (1, 4, 8), 8))

    def steps(self, problem: PermuteColumns, config: Config) -> tuple[Step, ...]:
        across, down = config["ACROSS"], config["DOWN"]
        grid = (blocks(problem.width, across), min(blocks(problem.rows, down), MOST_BLOCKS), 1)
        return self.one(problem, Launch(self.kernel(), grid, (across, down, 1)))

    def accesses(self, problem: PermuteColumns, config: Config) -> dict[str, Accesses]:
        """The index anew for every row."""
        index = row_loads(problem.width, problem.rows, alignment=8)
        return {self.kernel(): index + self.picked(problem) + self.stored(problem, WARP)}


class SharedIndex(GpuPermuteColumns):
    """Takes every problem."""

    name = "shared_index"
    summary = "the index of a block's columns in shared memory, for many rows"
    tunables = (
        Tunable("ACROSS", (32, 64, 128), 32),
        Tunable("DOWN", (1, 4, 8), 8),
        Tunable("ROWS", (8, 32, 128), 32),
    )

    def steps(self, problem: PermuteColumns, config: Config) -> tuple[Step, ...]:
        bands = min(blocks(problem.rows, config["ROWS"]), MOST_BLOCKS)
        grid = (blocks(problem.width, config["ACROSS"]), bands, 1)
        return self.one(problem, Launch(self.kernel(), grid, (config["ACROSS"], config["DOWN"], 1)))

    def accesses(self, problem: PermuteColumns, config: Config) -> dict[str, Accesses]:
        """The index once for a band of rows, and then from shared memory."""
        bands = min(blocks(problem.rows, config["ROWS"]), MOST_BLOCKS)
        index = row_loads(problem.width, bands, alignment=8)
        reads = Accesses(shared_reads=problem.rows * warps_of(problem.width))
        return {self.kernel(): index + reads + self.picked(problem) + self.stored(problem, WARP)}


STRATEGIES = (Naive(), SharedIndex())
