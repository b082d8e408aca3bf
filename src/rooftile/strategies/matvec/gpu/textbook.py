"""A thread a row or a column, and x in shared memory.

Source: PMPP, chapter 3, exercise 2; section 5.4, on a vector; section 9.2 (atomic operations);
section 9.4 (privatization).
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    linear_stores,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.matvec.gpu._base import GpuMatvec


def along_rows(problem: Matvec, block: int) -> Accesses:
    """A thread a row of the matrix, which it walks along; and the results."""
    rows, columns = problem.rows, problem.columns
    if problem.transpose:
        found = row_loads(rows, columns, alignment=math.gcd(rows, SECTOR_FLOATS))
    else:
        found = row_loads(rows, columns, stride=columns)
    diverge = len(guard_1d(rows, 1, block))
    return found + row_stores(rows, 1) + Accesses(divergent_warps=diverge)


def of_x_by_all(problem: Matvec) -> Accesses:
    """Every thread of a row reads all of x, a warp the same element at a time."""
    warps = warps_of(problem.rows)
    return broadcasts(problem.columns * warps, problem.rows / warps)


def along_columns(problem: Matvec, lanes: int) -> Accesses:
    """``lanes`` neighbours of a row at a time."""
    rows, columns = problem.rows, problem.columns
    if problem.transpose:
        return row_loads(columns, rows, stride=rows, lanes=lanes)
    return row_loads(columns, rows, lanes=lanes, alignment=math.gcd(columns, SECTOR_FLOATS))


def cleared(problem: Matvec) -> Accesses:
    """The zeros before atomics."""
    return linear_stores(problem.rows)


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


class ColumnThreads(GpuMatvec):
    """Neighbours read neighbours of a row."""

    name = "column_threads"
    atomic = True
    summary = "a thread a column, every product added to y by an atomic"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 128), Tunable("RUNS", (1, 16, 256), 16))

    def steps(self, problem: Matvec, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.columns, config["BLOCK"]), min(problem.rows, config["RUNS"]), 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return self.clearing(problem), self.product(problem, launch)

    def accesses(self, problem: Matvec, config: Config) -> dict[str, Accesses]:
        """A thread's element of x stays in a register; every product is an atomic."""
        runs = min(problem.rows, config["RUNS"])
        found = along_columns(problem, WARP) + row_loads(problem.columns, runs, alignment=8)
        atomics = Accesses(atomics=problem.rows * problem.columns)
        return {self.kernel("clear"): cleared(problem), self.kernel(): found + atomics}


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


STRATEGIES = (RowThreads(), SharedX(), ColumnThreads(), TwoDimensional())
