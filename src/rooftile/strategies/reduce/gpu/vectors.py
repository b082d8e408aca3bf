"""`vectors`: persistent segments, several vectors of 16 bytes in flight a thread. Source: Luitjens,
"CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA, 2013)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Counted, beside, stored_apart
from rooftile.analysis.cooperation import chain, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import InRows, row_vector
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.reduce.gpu._base import GpuReduce, shortened


class Vectors(InRows, GpuReduce):
    """Takes rows whose elements are adjacent."""

    name = "vectors"
    summary = "persistent segments, several vectors of 16 bytes in flight a thread"
    thread_bytes = 8

    def limits(self, problem: Reduce) -> str | None:
        return self.not_in_rows(problem) or super().limits(problem)

    def segments(self, problem: Reduce, config: Config) -> int:
        """A row has as many as keep every multiprocessor busy, and none is emptier than a load."""
        runs = blocks(problem.rows, config["ROWS"])
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, runs)
        round_ = row_vector(problem) * config["GROUP"] * config["LOADS"]
        return max(1, min(max(wanted, shortened(problem, round_)), blocks(problem.columns, round_)))

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        grid = (self.segments(problem, config), blocks(problem.rows, config["ROWS"]), 1)
        launch = Launch(self.kernel(), grid, (config["GROUP"], config["ROWS"], 1))
        first, *others = self.both(problem, config, launch)
        numbers = problem.rows, np.int64(problem.columns)
        return (Step(launch, (*first.arguments[:2], *numbers)), *others)

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """Vectors, LOADS independent totals a thread, then a tree a team."""
        teams = problem.rows * self.segments(problem, config)
        count, team = problem.rows * problem.columns, config["GROUP"]
        size, width = problem.input_arrays[0].numpy.itemsize, row_vector(problem)
        share = blocks(problem.columns, self.segments(problem, config) * team)
        made = beside(count, size, width) + stored_apart(teams)
        made += chain(count, blocks(share, config["LOADS"]) + config["LOADS"] - 1)
        words = CARRIED_BYTES[problem.carried] // 4
        made += shared_tree(team // 2, "sequential", teams, words, max(1, WARP // team))
        return self.joined(problem, config, made)


STRATEGY = Vectors()
