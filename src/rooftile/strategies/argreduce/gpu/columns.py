"""`columns`: an axis that is not the last, neighbouring columns by neighbouring threads. Source:
PMPP, section 6.1 (coalescing)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside
from rooftile.analysis.cooperation import chain
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import MOST_ROWS, PLACE_BYTES, GpuArgreduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import InColumns, column_vector
from rooftile.strategies.contract.gpu import Config, Step, Tunable

_FOUND_BYTES = 16
"""Of a thread's value and place."""


class Columns(InColumns, GpuArgreduce):
    """Takes every axis but the last."""

    name = "columns"
    summary = "neighbouring columns a vector each, several rows in flight a thread"
    thread_bytes = _FOUND_BYTES
    tunables = (*InColumns.tunables[:3], Tunable("BLOCKS", (1, 2, 4, 8, 16), 4))

    def limits(self, problem: Argreduce) -> str | None:
        if problem.inner > 1 and problem.columns > MOST_ROWS:
            return f"{problem.columns} elements of a result"
        return super().limits(problem)

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), self.grid(problem, config), (config["THREADS"], 1, 1))
        slabs, inner = problem.rows // problem.inner, np.int64(problem.inner)
        across = self.across(problem, config)
        return self.both(problem, config, launch, slabs, problem.columns, inner, across)

    def accesses(self, problem: Argreduce, config: Config) -> Counted:
        """Neighbouring columns; then the threads of a column find the best of theirs."""
        segments, across = self.segments(problem, config), self.across(problem, config)
        down, width = config["THREADS"] // across, column_vector(problem)
        size = problem.input_arrays[0].numpy.itemsize
        count, passes = problem.rows * problem.columns, (down - 1).bit_length()
        joins = problem.rows * segments * (down - 1)
        made = beside(count, size, width)
        made += chain(count + joins, blocks(problem.columns, segments * down) + width * passes)
        words = (CARRIED_BYTES[problem.carried] + PLACE_BYTES) // 4
        made += Accesses(shared_reads=words * joins / WARP)
        return self.joined(problem, config, made)


STRATEGY = Columns()
