"""`columns`: an axis that is not the last, neighbouring columns by neighbouring threads. Source:
PMPP, section 6.1 (coalescing)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import InColumns, column_vector
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.reduce.gpu._base import GpuReduce

_LANES, _SHARES = 32, 8
"""Results of a block of the last kernel, and shares of their segments."""


class Columns(InColumns, GpuReduce):
    """Takes every axis but the last."""

    name = "columns"
    summary = "neighbouring columns a vector each, several rows in flight a thread"
    thread_bytes = 8

    def workspace(self, problem: Reduce, config: Config) -> dict[str, int]:
        segments = self.segments(problem, config)
        bytes_ = CARRIED_BYTES[problem.carried] * problem.rows * segments
        return {"partials": blocks(bytes_, 4)} if segments > 1 else {}

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        segments, block = self.segments(problem, config), (config["THREADS"], 1, 1)
        slabs, inner = problem.rows // problem.inner, np.int64(problem.inner)
        first = Launch(self.kernel(), self.grid(problem, config), block, overlaps=True)
        numbers = slabs, np.int64(problem.columns), inner, self.across(problem, config)
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

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """Neighbouring columns; the threads of a column join what they have, one vector element
        after the other; so do the segments."""
        segments, across = self.segments(problem, config), self.across(problem, config)
        down, width = config["THREADS"] // across, column_vector(problem)
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


STRATEGY = Columns()
