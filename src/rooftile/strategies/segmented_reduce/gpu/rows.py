"""A thread for each segment, and a team of threads.

Source: Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965); Bell and Garland,
"Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009 (a
warp a row).
"""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    Counted,
    apart,
    beside,
    row_loads,
    stored_apart,
    stored_beside,
)
from rooftile.analysis.cooperation import chain, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_reduce.gpu._base import GpuSegmented, lengths


class Naive(GpuSegmented):
    """Takes every operator: it keeps the order."""

    name = "naive"
    summary = "a thread a segment, its elements in their order"
    takes = features("dtype:* offsets:int32 operator.associative operator.commutative operator:*")
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def limits(self, problem: SegmentedReduce) -> str | None:
        return None

    def steps(self, problem: SegmentedReduce, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.segments, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (Step(launch, ("x", "offsets", "results", *sizes)),)

    def accesses(self, problem: SegmentedReduce, config: Config) -> Counted:
        """Segments of one length: neighbouring threads read as far apart as that."""
        size, offset = (array.numpy.itemsize for array in problem.input_arrays)
        length = lengths(problem)
        made = apart(problem.count, length, size) + beside(2 * problem.segments, offset)
        guard = Accesses(divergent_warps=int(problem.segments % WARP != 0))
        made += stored_beside(problem.segments) + chain(problem.count, length)
        return {self.kernel(): made + guard}


_THREADS = 256


class Teams(GpuSegmented):
    """Results are the same in every run."""

    name = "teams"
    summary = "several threads a segment, joined by a tree"
    tunables = (Tunable("TEAM", (4, 8, 16, 32, 64, 128, 256), 32),)

    def defaults(self, problem: SegmentedReduce) -> dict[str, int]:
        """A quarter of an average segment's elements."""
        return {"TEAM": tile_of(blocks(problem.count, 4 * problem.segments), 4, _THREADS)}

    def macros(self, problem: SegmentedReduce, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "ROWS": _THREADS // config["TEAM"]}

    def steps(self, problem: SegmentedReduce, config: Config) -> tuple[Step, ...]:
        rows = _THREADS // config["TEAM"]
        launch = Launch(
            self.kernel(), (blocks(problem.segments, rows), 1, 1), (config["TEAM"], rows, 1)
        )
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (Step(launch, ("x", "offsets", "results", *sizes)),)

    def accesses(self, problem: SegmentedReduce, config: Config) -> Counted:
        """Segments of one length: a team reads neighbours, begun anywhere, then joins by a tree."""
        size, offset = (array.numpy.itemsize for array in problem.input_arrays)
        team, length = config["TEAM"], lengths(problem)
        lanes = min(team, WARP)
        made = row_loads(length, problem.segments, lanes=lanes, elem_bytes=size)
        made += beside(2 * problem.segments, offset) + stored_apart(problem.segments)
        made += chain(problem.count, blocks(length, team))
        words = CARRIED_BYTES[problem.carried] // 4
        made += shared_tree(team // 2, "sequential", problem.segments, words, WARP // lanes)
        return {self.kernel(): made}


STRATEGIES = (Naive(), Teams())
