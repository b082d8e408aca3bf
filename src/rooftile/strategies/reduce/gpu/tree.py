"""Rung 2, `tree`: a tree in shared memory, the active threads always the first.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., sections 10.4
to 10.7 (convergent tree, shared memory, segments of several blocks).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.gpu import Config, Step
from rooftile.strategies.reduce.gpu._base import FINISH_THREADS, SegmentedReduce


class Tree(SegmentedReduce):
    """Sums are the same in every run."""

    name = "tree"
    order = 2
    summary = "two elements a thread, joined by a tree in shared memory"

    def segments(self, problem: Reduce, config: Config) -> int:
        """How many segments a row has, at two elements a thread."""
        return blocks(problem.columns, 2 * FINISH_THREADS)

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        """Segments, then their sums."""
        grid = (self.segments(problem, config), min(problem.rows, MOST_BLOCKS), 1)
        return self.both(problem, config, Launch("segments", grid, (FINISH_THREADS, 1, 1)))


STRATEGY = Tree()
