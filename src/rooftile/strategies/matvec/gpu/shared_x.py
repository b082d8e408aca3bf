"""`shared_x`: a thread a row, x in shared memory tile by tile.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.4, on a
vector.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses, row_loads, warps_of
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matvec.gpu._accesses import along_rows
from rooftile.strategies.matvec.gpu._base import GpuMatvec


class SharedX(GpuMatvec):
    """A thread walks along its own row, x in shared memory."""

    name = "shared_x"
    summary = "a thread a row, x in shared memory tile by tile"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Matvec, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        return (self.product(problem, Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))),)

    def accesses(self, problem: Matvec, config: Config) -> dict[str, Accesses]:
        """A block loads x once; each warp reads an element at a time."""
        block = config["BLOCK"]
        tiles = row_loads(problem.columns, blocks(problem.rows, block), alignment=8)
        reads = Accesses(shared_reads=problem.columns * warps_of(problem.rows))
        return {self.kernel(): along_rows(problem, block) + tiles + reads}


STRATEGY = SharedX()
