"""Rung 2, `tree`: a tournament in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 10.2 (the
tournament).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import MOST_ROWS, GpuArgreduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.gpu import Config, Step, Tunable


class Tree(GpuArgreduce):
    """Takes every problem."""

    name = "tree"
    order = 2
    summary = "a tournament of values with their places in shared memory"
    tunables = (
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("LOADS", (2, 4, 8, 16, 32), 8),
    )

    def why_not(self, problem: Argreduce) -> str | None:
        """More segments than a grid has blocks."""
        if self.segments(problem, self.defaults(problem)) > MOST_ROWS:
            return f"{problem.columns} elements of a result"
        return super().why_not(problem)

    def segments(self, problem: Argreduce, config: Config) -> int:
        """Tiles of a row."""
        return blocks(problem.columns, config["THREADS"] * config["LOADS"])

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        """Tiles, then what they found."""
        grid = (self.segments(problem, config), min(problem.rows, MOST_BLOCKS), 1)
        launch = Launch("segments", grid, (config["THREADS"], 1, 1))
        return self.both(problem, config, launch, *numbers_of(problem))


STRATEGY = Tree()
