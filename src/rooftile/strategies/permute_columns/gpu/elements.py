"""A thread for an element, and rows in shared memory."""

from __future__ import annotations

import math

import numpy as np

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    row_loads,
    row_stores,
    scattered_loads,
    warps_of,
)
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable


class GpuPermuteColumns(GpuStrategy):
    """A GPU strategy of `permute_columns`: one kernel of its name.

    Which sectors it touches depends on the index: the model's sends neighbours far apart.
    """

    operation = "permute_columns"
    takes = features("dtype:*")
    wide_indices = True

    def macros(self, problem: PermuteColumns, config: Config) -> dict[str, int | str]:
        return {"BYTES": problem.itemsize, **config}

    def one(self, problem: PermuteColumns, launch: Launch) -> tuple[Step, ...]:
        """The launch of the kernel."""
        sizes = np.int64(problem.rows), problem.columns, problem.width
        return (Step(launch, ("x", "index", "y", *sizes)),)

    def picked(self, problem: PermuteColumns) -> Accesses:
        """Elements of x that lie apart."""
        return scattered_loads(problem.rows * problem.width)

    def stored(self, problem: PermuteColumns, lanes: int) -> Accesses:
        """The result, in its order."""
        size = problem.itemsize
        return row_stores(problem.width, problem.rows, lanes=lanes, elem_bytes=size)

    def limits(self, problem: PermuteColumns) -> str | None:
        most = max(problem.columns, problem.width)
        return f"{most} columns: their indices are 32-bit" if most > 2**30 else None


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


_COLLISIONS = 3.53
"""Passes of a warp that reads 32 random words: the mean of the fullest of 32 banks."""


class RowsInSharedMemory(GpuPermuteColumns):
    """Takes problems whose rows fit into shared memory."""

    name = "rows"
    summary = "whole rows in shared memory, picked from there: reads of x are coalesced"
    tunables = (
        Tunable("BLOCK", (32, 64, 128, 256, 512, 1024), 256),
        Tunable("BLOCKS", (2, 4, 8, 16), 8),
    )

    def limits(self, problem: PermuteColumns) -> str | None:
        return super().limits(problem) or beyond_block(1, problem.columns * problem.itemsize)

    def defaults(self, problem: PermuteColumns) -> dict[str, int]:
        """As many threads as a row keeps busy for a few rounds."""
        threads = tile_of(-(-max(problem.columns, problem.width) // 8), 32, 512)
        return {"BLOCK": threads, "BLOCKS": 16 if threads <= 128 else 8}

    def macros(self, problem: PermuteColumns, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "COLUMNS": problem.columns}

    def steps(self, problem: PermuteColumns, config: Config) -> tuple[Step, ...]:
        held = config["BLOCKS"] * self.machine.multiprocessors
        launch = Launch(self.kernel(), (min(problem.rows, held), 1, 1), (config["BLOCK"], 1, 1))
        return self.one(problem, launch)

    def accesses(self, problem: PermuteColumns, config: Config) -> dict[str, Accesses]:
        """Rows as they lie; picked from shared memory, where banks collide."""
        size = problem.itemsize
        alignment = math.gcd(problem.columns, SECTOR_BYTES // size)
        found = row_loads(problem.columns, problem.rows, alignment=alignment, elem_bytes=size)
        found += row_loads(problem.width, problem.rows, alignment=8)
        reads = Accesses(shared_reads=_COLLISIONS * problem.rows * warps_of(problem.width))
        return {self.kernel(): found + reads + self.stored(problem, WARP)}

    def picture(self, problem: PermuteColumns, config: Config) -> Panels:
        """A row in shared memory, and what is picked from it by an index that turns it around."""
        block, last = config["BLOCK"], problem.columns - 1

        def wanted(j: int) -> int:
            return last - j % problem.columns

        def thread(j: int) -> str:
            return str(j % block)

        return (
            panel(
                "a row of x, by the thread that loads it",
                (1, problem.columns),
                lambda _, j: Cell("used" if j == wanted(1) else "core", thread(j)),
            ),
            panel(
                "index",
                (1, problem.width),
                lambda _, j: Cell("used" if j == 1 else "core", str(wanted(j))),
            ),
            panel(
                "y, by the thread that stores it",
                (1, problem.width),
                lambda _, j: Cell("used" if j == 1 else "made", thread(j)),
            ),
        )


STRATEGIES = (Naive(), SharedIndex(), RowsInSharedMemory())
