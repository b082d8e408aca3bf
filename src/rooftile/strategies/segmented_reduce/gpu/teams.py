"""`teams`: several threads a segment. Source: Bell and Garland, "Implementing Sparse Matrix-Vector
Multiplication on Throughput-Oriented Processors", SC 2009 (a warp a row)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import WARP, Counted, beside, row_loads, stored_apart
from rooftile.analysis.cooperation import chain, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_reduce.gpu._base import GpuSegmented, lengths

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


STRATEGY = Teams()
