"""`row_threads`: a thread a row.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
chapter 3, exercise 2.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matvec.gpu._accesses import along_rows, of_x_by_all
from rooftile.strategies.matvec.gpu._base import GpuMatvec


class RowThreads(GpuMatvec):
    """A thread walks along its own row."""

    name = "row_threads"
    summary = "a thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Matvec, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        return (self.product(problem, Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))),)

    def accesses(self, problem: Matvec, config: Config) -> dict[str, Accesses]:
        return {self.kernel(): along_rows(problem, config["BLOCK"]) + of_x_by_all(problem)}


STRATEGY = RowThreads()
