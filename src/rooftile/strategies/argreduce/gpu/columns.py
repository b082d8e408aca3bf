"""`columns`: an axis that is not the last, neighbouring columns by neighbouring threads. Source:
PMPP, section 6.1 (coalescing)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import MOST_ROWS, PLACE_BYTES, GpuArgreduce
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import vector_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable

_MOST = 8
"""Columns of a thread."""
_FOUND_BYTES = 16
"""Of a thread's value and place."""


class Columns(GpuArgreduce):
    """Takes every axis but the last."""

    name = "columns"
    summary = "neighbouring columns a vector each, several rows in flight a thread"
    tunables = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("ACROSS", (8, 16, 32, 64, 128, 256), 256),
        Tunable("LOADS", (2, 4, 8), 8),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 4),
    )

    def limits(self, problem: Argreduce) -> str | None:
        if problem.inner == 1:
            return "the elements of a result are adjacent"
        if problem.columns > MOST_ROWS:
            return f"{problem.columns} elements of a result"
        return super().limits(problem)

    def defaults(self, problem: Argreduce) -> dict[str, int]:
        """Fewer loads in flight where a vector has many elements: each has its registers."""
        return {**super().defaults(problem), "LOADS": 8 if _vector(problem) <= 4 else 4}

    def invalid(self, problem: Argreduce, config: Config) -> str | None:
        if config["ACROSS"] > config["THREADS"]:
            return f"{config['ACROSS']} threads of {config['THREADS']} across"
        return beyond_block(config["THREADS"], _FOUND_BYTES * config["THREADS"])

    def macros(self, problem: Argreduce, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "VECTOR": _vector(problem)}

    def segments(self, problem: Argreduce, config: Config) -> int:
        """As many of a column as keep every multiprocessor busy, none emptier than its loads."""
        across = self._across(problem, config)
        width = problem.inner // _vector(problem)
        others = blocks(width, across) * (problem.rows // problem.inner)
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, others)
        full = blocks(problem.columns, config["THREADS"] // across * config["LOADS"])
        return max(1, min(wanted, full, MOST_BLOCKS))

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        segments, across = self.segments(problem, config), self._across(problem, config)
        slabs, width = problem.rows // problem.inner, problem.inner // _vector(problem)
        grid = (blocks(width, across), segments, min(slabs, MOST_BLOCKS))
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        inner = np.int64(problem.inner)
        return self.both(problem, config, launch, slabs, problem.columns, inner, across)

    def _across(self, problem: Argreduce, config: Config) -> int:
        """Vectors of a row that a block takes: all, where it has threads for them."""
        width = problem.inner // _vector(problem)
        return width if width <= config["THREADS"] else config["ACROSS"]

    def accesses(self, problem: Argreduce, config: Config) -> Counted:
        """Neighbouring columns; then the threads of a column find the best of theirs."""
        segments, across = self.segments(problem, config), self._across(problem, config)
        down, width = config["THREADS"] // across, _vector(problem)
        size = problem.input_arrays[0].numpy.itemsize
        count, passes = problem.rows * problem.columns, (down - 1).bit_length()
        joins = problem.rows * segments * (down - 1)
        made = beside(count, size, width)
        made += chain(count + joins, blocks(problem.columns, segments * down) + width * passes)
        words = (CARRIED_BYTES[problem.carried] + PLACE_BYTES) // 4
        made += Accesses(shared_reads=words * joins / WARP)
        return self.joined(problem, config, made)


def _vector(problem: Argreduce) -> int:
    """Neighbouring columns of a thread: eight bytes hold enough that are one byte each."""
    return min(vector_of(problem, problem.inner), _MOST)


STRATEGY = Columns()
