"""A thread for each row, and a tree of threads.

Source: PMPP, section 10.2 (the tournament).
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, apart, stored_beside
from rooftile.analysis.cooperation import chain, in_turn, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import MOST_ROWS, PLACE_BYTES, GpuArgreduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class Naive(GpuArgreduce):
    """Takes every problem."""

    name = "naive"
    summary = "a thread a result"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "places", *numbers_of(problem))),)

    def accesses(self, problem: Argreduce, config: Config) -> Counted:
        """Neighbouring threads read a row apart, unless rows are adjacent."""
        size, count = problem.input_arrays[0].numpy.itemsize, problem.rows * problem.columns
        stride = problem.columns if problem.inner == 1 else 1
        made = apart(count, stride, size) + stored_beside(problem.rows, PLACE_BYTES)
        guard = Accesses(divergent_warps=int(problem.rows % WARP != 0))
        return {self.kernel(): made + chain(count, problem.columns) + guard}


class Tree(GpuArgreduce):
    """Takes every problem."""

    name = "tree"
    summary = "a tournament of values with their places in shared memory"
    tunables = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("LOADS", (2, 4, 8, 16, 32), 8),
    )

    def limits(self, problem: Argreduce) -> str | None:
        if self.segments(problem, self.defaults(problem)) > MOST_ROWS:
            return f"{problem.columns} elements of a result"
        return super().limits(problem)

    def segments(self, problem: Argreduce, config: Config) -> int:
        """Tiles of a row."""
        return blocks(problem.columns, config["THREADS"] * config["LOADS"])

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        grid = (self.segments(problem, config), min(problem.rows, MOST_BLOCKS), 1)
        launch = Launch(self.kernel(), grid, (config["THREADS"], 1, 1))
        return self.both(problem, config, launch, *numbers_of(problem))

    def accesses(self, problem: Argreduce, config: Config) -> Counted:
        """LOADS elements a thread with their places, then the tournament."""
        count, tiles = problem.rows * problem.columns, problem.rows * self.segments(problem, config)
        made = apart(count, problem.inner, problem.input_arrays[0].numpy.itemsize)
        made += chain(count, config["LOADS"])
        words = (CARRIED_BYTES[problem.carried] + PLACE_BYTES) // 4
        made += shared_tree(config["THREADS"] // 2, "sequential", tiles, words)
        made = in_turn(made, blocks(problem.rows, MOST_BLOCKS))
        return self.joined(problem, config, made)


STRATEGIES = (Naive(), Tree())
