"""`two_dimensional`: a tile of a a block, sums by atomics in shared memory first.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.4
(privatization).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, row_loads
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matvec.gpu._accesses import along_columns, cleared
from rooftile.strategies.matvec.gpu._base import GpuMatvec


class TwoDimensional(GpuMatvec):
    """A row's sum of a block is made in shared memory."""

    name = "two_dimensional"
    atomic = True
    summary = "tiles of a, sums by atomics in shared memory, then in global memory"
    tunables = (
        Tunable("LANES", (8, 16, 32), 32),
        Tunable("ROWS", (1, 4, 8, 16), 8),
        Tunable("SEGMENT", (128, 512, 2048), 512),
    )

    def invalid(self, problem: Matvec, config: Config) -> str | None:
        return beyond_block(config["LANES"] * config["ROWS"])

    def steps(self, problem: Matvec, config: Config) -> tuple[Step, ...]:
        """Zeros, then the tiles."""
        across = blocks(problem.columns, config["SEGMENT"])
        grid = (across * blocks(problem.rows, config["ROWS"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["LANES"], config["ROWS"], 1))
        return self.clearing(problem), self.product(problem, launch)

    def accesses(self, problem: Matvec, config: Config) -> dict[str, Accesses]:
        """Of a row's segment one atomic reaches global memory."""
        lanes, across = config["LANES"], blocks(problem.columns, config["SEGMENT"])
        found = along_columns(problem, lanes)
        found += row_loads(problem.columns, problem.rows, lanes=lanes, alignment=8)
        atomics = Accesses(atomics=problem.rows * across, shared_reads=problem.rows * across)
        return {self.kernel("clear"): cleared(problem), self.kernel(): found + atomics}


STRATEGY = TwoDimensional()
