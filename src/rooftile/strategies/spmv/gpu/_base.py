"""The base of the GPU strategies of `spmv`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.sparse.rows import ARRAYS, Form
from rooftile.ops.sparse.spmv import Spmv
from rooftile.ops.sparse.tiles import TILE, tiles_of
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES, operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

MOST_BLOCKS = 2**31 - 1
SPAN = 128
"""Threads of blocks that do not sum tiles, and tiles whose first rows one of them finishes."""
_TEAM = 32
"""Threads of a tile."""
_TYPES = {"int64": "int64", "int32": "int"}
_COUNTS = {"int64": "size_t", "int32": "unsigned"}


class GpuSpmv(GpuStrategy):
    """A GPU strategy of `spmv` for one format."""

    operation = "spmv"
    takes = features("dtype:* index:int64 tiled updated")
    wide_indices = True
    form: ClassVar[Form]

    def limits(self, problem: Spmv) -> str | None:
        if problem.form != self.form:
            return f"it is for {self.form}, not for {problem.form}"
        most = max(problem.rows, problem.columns, problem.entries)
        return None if most <= MOST_BLOCKS * 32 else f"{most} rows, columns or entries"

    def macros(self, problem: Spmv, config: Config) -> dict[str, int | str]:
        index = _TYPES[problem.index]
        return {
            **operator_macros(SUM, problem.dtype),
            "INDEX": index,
            "OFFSET": index,
            "COUNT": _COUNTS[problem.index],
            "UPDATED": int(problem.updated),
            **config,
        }


def update_of(problem: Spmv) -> tuple[str, ...]:
    """The arrays after the others of a kernel that finishes rows."""
    return ("alpha", "beta", "start", "y") if problem.updated else ("y",)


def matrix_of(problem: Spmv) -> tuple[str, ...]:
    """The matrix's arrays, and x."""
    return (*ARRAYS[problem.form], "x")


class RowSpmv(GpuSpmv):
    """One kernel, called as the strategy, with a thread a row."""

    tunables = (Tunable("BLOCK", (64, 128, 256), 128),)

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """The kernel's arguments after y."""
        return (np.int64(problem.rows),)

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        block = config["BLOCK"]
        launch = Launch(self.kernel(), (blocks(problem.rows, block), 1, 1), (block, 1, 1))
        arrays = (*matrix_of(problem), *update_of(problem))
        return (Step(launch, (*arrays, *self.numbers(problem))),)


class ScatterSpmv(GpuSpmv):
    """One kernel, called as the strategy, that adds to y by atomics."""

    takes = features("dtype:* form:coo index:int64 updated")

    atomic = True
    tunables = (Tunable("BLOCK", (64, 128, 256), 256),)

    def threads(self, problem: Spmv) -> int:
        raise NotImplementedError

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        block = (config["BLOCK"], 1, 1)

        def launch(kernel: str, count: int) -> Launch:
            return Launch(kernel, (blocks(count, config["BLOCK"]), 1, 1), block)

        rows, count = np.int64(problem.rows), self.threads(problem)
        adding = Step(launch(self.kernel(), count), (*matrix_of(problem), "y", np.int64(count)))
        steps = (Step(launch(self.kernel("clear"), problem.rows), ("y", rows)), adding)
        if not problem.updated:
            return steps
        arguments = ("y", "alpha", "beta", "start", rows)
        return (*steps, Step(launch(self.kernel("finish"), problem.rows), arguments))


class MergedSpmv(GpuSpmv):
    """Entries and ends of rows in tiles of equal work, see ``merged.h``; the same in every run."""

    tunables = (Tunable("TEAMS", (2, 4, 8), 4),)
    adds: ClassVar[int] = 0
    """1 if y has sums already, which the kernels add to."""

    def limits(self, problem: Spmv) -> str | None:
        reason = super().limits(problem)
        if reason is None and self.tiles(problem) > MOST_BLOCKS:
            return f"{problem.entries} entries"
        return reason

    def macros(self, problem: Spmv, config: Config) -> dict[str, int | str]:
        more = {"PER": TILE // _TEAM, "SPAN": SPAN, "ADDS": self.adds}
        return {**super().macros(problem, config), **more}

    def invalid(self, problem: Spmv, config: Config) -> str | None:
        teams, wide = config["TEAMS"], CARRIED_BYTES[problem.summed]
        return beyond_block(teams * _TEAM, teams * wide * (TILE + 1 + 2 * _TEAM))

    def merged_entries(self, problem: Spmv) -> int:
        """Entries that are merged with the ends of rows."""
        return problem.entries

    def tiles(self, problem: Spmv) -> int:
        """Tiles of all items."""
        return tiles_of(problem.rows, self.merged_entries(problem))

    def workspace(self, problem: Spmv, config: Config) -> dict[str, int]:
        """The partial sums between tiles, and the tiles' first entries, where they are not
        known."""
        tiles, words = self.tiles(problem), CARRIED_BYTES[problem.summed] // 4
        found = {"heads": words * tiles, "tails": words * tiles}
        return found if problem.tiled else {**found, "tile_rows": index_words(problem, tiles + 1)}

    def merged_steps(
        self, problem: Spmv, config: Config, values: str, columns: str, offsets: str
    ) -> tuple[Step, ...]:
        """The search of tiles' first entries, where they are not known; the tiles; and the join of
        rows across tiles."""
        teams, tiles, span = config["TEAMS"], self.tiles(problem), (SPAN, 1, 1)
        sizes = np.int64(problem.rows), np.int64(self.merged_entries(problem)), tiles
        update, between = update_of(problem), ("tile_rows", "heads", "tails")
        given = (values, columns, offsets, "x", *update, *between)
        steps = (
            Step(
                Launch(self.kernel("sum_tiles"), (blocks(tiles, teams), 1, 1), (_TEAM, teams, 1)),
                (*given, *sizes),
            ),
            Step(
                Launch(
                    self.kernel("finish_rows"), (blocks(tiles, SPAN), 1, 1), span, overlaps=True
                ),
                (*between, *update, tiles),
            ),
        )
        if problem.tiled:
            return steps
        finding = Launch(self.kernel("find_tiles"), (blocks(tiles + 1, SPAN), 1, 1), span)
        return (Step(finding, (offsets, "tile_rows", *sizes)), *steps)

    def row_starts(self, problem: Spmv, rows: str) -> Step:
        """The search of rows' first entries among the merged entries: the workspace's
        ``row_offsets``."""
        launch = Launch(
            self.kernel("row_starts"), (blocks(problem.rows + 1, SPAN), 1, 1), (SPAN, 1, 1)
        )
        sizes = np.int64(problem.rows), np.int64(self.merged_entries(problem))
        return Step(launch, (rows, "row_offsets", *sizes))


def index_words(problem: Spmv, count: int) -> int:
    """float32 elements that hold ``count`` indices."""
    return count * (2 if problem.index == "int64" else 1)
