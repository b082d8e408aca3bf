"""Parts that GPU strategies over rows share, for sums of them and for indices in them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rooftile.ops.patterns.over_axes import OverAxes
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks, tile_of
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Tunable

VECTOR_BYTES = 16
_BLOCK = 256
"""Threads of a block where its rows are short."""
_MOST_COLUMNS = 8
"""Columns of a thread."""


class InRows(GpuStrategy):
    """Teams of threads read rows of adjacent elements in vectors."""

    thread_bytes: ClassVar[int]
    """Of shared memory for a thread's result."""
    tunables = (
        Tunable("GROUP", (8, 32, 64, 128, 256, 512), 256),
        Tunable("ROWS", (1, 2, 4, 8, 32), 1),
        Tunable("LOADS", (1, 2, 4, 8), 4),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def not_in_rows(self, problem: Any) -> str | None:
        """Elements that lie apart; more runs of rows than a grid has blocks in y."""
        if problem.inner > 1:
            return f"the elements of a result lie {problem.inner} apart"
        return self.invalid(problem, self.defaults(problem))

    def defaults(self, problem: Any) -> dict[str, int]:
        """As many threads as a row occupies, as many rows as a block has threads for."""
        vectors = blocks(problem.columns, row_vector(problem))
        team = tile_of(blocks(vectors, 2), 8, _BLOCK)
        rows = min(_BLOCK // team, 32) if problem.rows > 1 else 1
        while rows < 32 and blocks(problem.rows, rows) > MOST_BLOCKS:
            rows *= 2
        return {"GROUP": team, "ROWS": rows, "LOADS": 4, "BLOCKS": 4}

    def invalid(self, problem: Any, config: Config) -> str | None:
        threads = config["GROUP"] * config["ROWS"]
        if blocks(problem.rows, config["ROWS"]) > MOST_BLOCKS:
            return f"{problem.rows} rows, {config['ROWS']} a block, {MOST_BLOCKS} blocks at most"
        return beyond_block(threads, self.thread_bytes * threads)

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        macros = super().macros(problem, config)
        return {**macros, "TEAM": config["GROUP"], "VECTOR": row_vector(problem)}


class InColumns(GpuStrategy):
    """Neighbouring threads read neighbouring columns in vectors, LOADS rows of each in flight."""

    thread_bytes: ClassVar[int]
    """Of shared memory for a thread's result."""
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("ACROSS", (8, 16, 32, 64, 128, 256), 256),
        Tunable("LOADS", (2, 4, 8), 8),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def limits(self, problem: Any) -> str | None:
        if problem.inner == 1:
            return "the elements of a result are adjacent"
        return super().limits(problem)

    def defaults(self, problem: Any) -> dict[str, int]:
        """Fewer loads in flight where a vector has many elements: each has its register."""
        return {**super().defaults(problem), "LOADS": 8 if column_vector(problem) <= 4 else 4}

    def invalid(self, problem: Any, config: Config) -> str | None:
        if config["ACROSS"] > config["THREADS"]:
            return f"{config['ACROSS']} threads of {config['THREADS']} across"
        return beyond_block(config["THREADS"], self.thread_bytes * config["THREADS"])

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "VECTOR": column_vector(problem)}

    def segments(self, problem: Any, config: Config) -> int:
        """As many of a column as keep every multiprocessor busy, none emptier than its loads."""
        across = self.across(problem, config)
        width = problem.inner // column_vector(problem)
        others = blocks(width, across) * (problem.rows // problem.inner)
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, others)
        full = blocks(problem.columns, config["THREADS"] // across * config["LOADS"])
        return max(1, min(wanted, full, MOST_BLOCKS))

    def grid(self, problem: Any, config: Config) -> tuple[int, int, int]:
        """Runs of vectors of a row, segments of all rows, and slabs."""
        width, slabs = problem.inner // column_vector(problem), problem.rows // problem.inner
        across = blocks(width, self.across(problem, config))
        return across, self.segments(problem, config), min(slabs, MOST_BLOCKS)

    def across(self, problem: Any, config: Config) -> int:
        """Vectors of a row that a block takes: all, where it has threads for them."""
        width = problem.inner // column_vector(problem)
        return int(width) if width <= config["THREADS"] else config["ACROSS"]


def numbers_of(problem: OverAxes) -> tuple[int, np.int64, np.int64]:
    """Rows, columns and the stride of elements, as the kernels take them."""
    return problem.rows, np.int64(problem.columns), np.int64(problem.inner)


def vector_of(problem: OverAxes, length: int) -> int:
    """Elements of 16 bytes where every row, of ``length``, begins at a multiple of them, else 1."""
    width = VECTOR_BYTES // problem.input_arrays[0].numpy.itemsize
    return width if length % width == 0 else 1


def row_vector(problem: OverAxes) -> int:
    """The vector of rows; a single row may have any length."""
    return vector_of(problem, 0 if problem.rows == 1 else problem.columns)


def column_vector(problem: OverAxes) -> int:
    """Neighbouring columns of a thread: eight bytes hold enough that are one byte each."""
    return min(vector_of(problem, problem.inner), _MOST_COLUMNS)
