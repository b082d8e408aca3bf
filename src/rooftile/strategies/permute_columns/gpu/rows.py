"""`rows`: a block brings a whole row to shared memory and picks from there."""

from __future__ import annotations

import math

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import WARP, Accesses, row_loads, warps_of
from rooftile.analysis.pictures import Cell, Panels, panel
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.strategies.common.grid import beyond_block, tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.permute_columns.gpu._base import GpuPermuteColumns

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


STRATEGY = RowsInSharedMemory()
