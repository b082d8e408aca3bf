"""`column_threads`: a thread a column, sums by atomics.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.2
(atomic operations).
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, row_loads
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matvec.gpu._accesses import along_columns, cleared
from rooftile.strategies.matvec.gpu._base import GpuMatvec


class ColumnThreads(GpuMatvec):
    """Neighbours read neighbours of a row."""

    name = "column_threads"
    atomic = True
    summary = "a thread a column, every product added to y by an atomic"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 128), Tunable("RUNS", (1, 16, 256), 16))

    def steps(self, problem: Matvec, config: Config) -> tuple[Step, ...]:
        """Zeros, then the products."""
        grid = (blocks(problem.columns, config["BLOCK"]), min(problem.rows, config["RUNS"]), 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return self.clearing(problem), self.product(problem, launch)

    def accesses(self, problem: Matvec, config: Config) -> dict[str, Accesses]:
        """A thread's element of x stays in a register; every product is an atomic."""
        runs = min(problem.rows, config["RUNS"])
        found = along_columns(problem, WARP) + row_loads(problem.columns, runs, alignment=8)
        atomics = Accesses(atomics=problem.rows * problem.columns)
        return {self.kernel("clear"): cleared(problem), self.kernel(): found + atomics}


STRATEGY = ColumnThreads()
