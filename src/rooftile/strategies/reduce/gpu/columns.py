"""`columns`: an axis that is not the last, neighbouring columns by neighbouring threads. Source:
PMPP, section 6.1 (coalescing)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import vector_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import GpuReduce

_LANES, _SHARES = 32, 8
"""Results of a block of the last kernel, and shares of their segments."""
_MOST = 8
"""Columns of a thread."""


class Columns(GpuReduce):
    """Takes every axis but the last."""

    name = "columns"
    summary = "neighbouring columns a vector each, several rows in flight a thread"
    tunables = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("ACROSS", (8, 16, 32, 64, 128, 256), 256),
        Tunable("LOADS", (2, 4, 8), 8),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def limits(self, problem: Reduce) -> str | None:
        if problem.inner == 1:
            return "the elements of a result are adjacent"
        return super().limits(problem)

    def defaults(self, problem: Reduce) -> dict[str, int]:
        """Fewer loads in flight where a vector has many elements: each has its register."""
        return {**super().defaults(problem), "LOADS": 8 if _vector(problem) <= 4 else 4}

    def invalid(self, problem: Reduce, config: Config) -> str | None:
        if config["ACROSS"] > config["THREADS"]:
            return f"{config['ACROSS']} threads of {config['THREADS']} across"
        return beyond_block(config["THREADS"], 8 * config["THREADS"])

    def macros(self, problem: Reduce, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "VECTOR": _vector(problem)}

    def segments(self, problem: Reduce, config: Config) -> int:
        """As many of a column as keep every multiprocessor busy, none emptier than its loads."""
        across = self._across(problem, config)
        width = problem.inner // _vector(problem)
        others = blocks(width, across) * (problem.rows // problem.inner)
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, others)
        full = blocks(problem.columns, config["THREADS"] // across * config["LOADS"])
        return max(1, min(wanted, full, MOST_BLOCKS))

    def workspace(self, problem: Reduce, config: Config) -> dict[str, int]:
        segments = self.segments(problem, config)
        bytes_ = CARRIED_BYTES[problem.carried] * problem.rows * segments
        return {"partials": blocks(bytes_, 4)} if segments > 1 else {}

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        segments, across = self.segments(problem, config), self._across(problem, config)
        slabs, inner = problem.rows // problem.inner, np.int64(problem.inner)
        width = problem.inner // _vector(problem)
        grid = (blocks(width, across), segments, min(slabs, MOST_BLOCKS))
        first = Launch(self.kernel(), grid, (config["THREADS"], 1, 1), overlaps=True)
        numbers = slabs, np.int64(problem.columns), inner, across
        if segments == 1:
            return (Step(first, ("x", "results", *numbers)),)
        grid = (blocks(problem.inner, _LANES), min(slabs, MOST_BLOCKS), 1)
        finish = Launch(
            self.kernel("finish_columns"), grid, (_LANES * _SHARES, 1, 1), overlaps=True
        )
        return (
            Step(first, ("x", "partials", *numbers)),
            Step(finish, ("partials", "results", slabs, segments, inner)),
        )

    def _across(self, problem: Reduce, config: Config) -> int:
        """Vectors of a row that a block takes: all, where it has threads for them."""
        width = problem.inner // _vector(problem)
        return width if width <= config["THREADS"] else config["ACROSS"]

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """Neighbouring columns; the threads of a column join what they have, one vector element
        after the other; so do the segments."""
        segments, across = self.segments(problem, config), self._across(problem, config)
        down, width = config["THREADS"] // across, _vector(problem)
        size, words = problem.input_arrays[0].numpy.itemsize, CARRIED_BYTES[problem.carried] // 4
        count, results = problem.rows * problem.columns, problem.rows
        passes = (down - 1).bit_length()
        made = beside(count, size, width) + stored_beside(results * segments, 4 * words)
        made += chain(count, blocks(problem.columns, segments * down * config["LOADS"]))
        joins = results * segments * (down - 1)
        made += chain(joins, width * passes) + Accesses(shared_reads=2 * words * joins / WARP)
        if segments == 1:
            return {self.kernel(): made}
        finish = beside(results * segments, 4 * words) + stored_beside(results)
        finish += chain(results * (segments + _SHARES), blocks(segments, _SHARES) + 3)
        finish += Accesses(shared_reads=2 * words * results * (_SHARES - 1) / WARP)
        return {self.kernel(): made, self.kernel("finish_columns"): finish}


def _vector(problem: Reduce) -> int:
    """Neighbouring columns of a thread: eight bytes hold enough that are one byte each."""
    width = vector_of(problem, problem.inner)
    return width if width <= _MOST else _MOST


STRATEGY = Columns()
