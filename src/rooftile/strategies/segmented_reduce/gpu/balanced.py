"""`balanced`: every thread takes as many elements and ends of segments. Source: Merrill and
Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    Counted,
    beside,
    scattered_loads,
    stored_apart,
    stored_beside,
)
from rooftile.analysis.cooperation import chain, warp_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_reduce.gpu._base import MOST_BLOCKS, GpuSegmented
from rooftile.strategies.segmented_reduce.gpu._join import joined, joining, left_by_tiles


class Balanced(GpuSegmented):
    """Results are the same in every run; neighbours are combined, and never out of order."""

    name = "balanced"
    summary = "every thread takes as many elements and ends of segments"
    takes = features("dtype:* offsets:int32 operator.commutative operator:*")
    summing = "reduce_tiles"
    tunables = (
        Tunable("THREADS", (64, 128, 256), 128),
        Tunable("PER", (7, 11, 15, 19), 19),
    )

    def limits(self, problem: SegmentedReduce) -> str | None:
        if _tiles(problem, self.defaults(problem)) > MOST_BLOCKS:
            return f"{problem.count} elements"
        return super().limits(problem)

    def defaults(self, problem: SegmentedReduce) -> dict[str, int]:
        """Fewer items a thread where they have eight bytes, for shared memory's sake."""
        if CARRIED_BYTES[problem.carried] == 8:
            return {"THREADS": 256, "PER": 11}
        return {"THREADS": 128, "PER": 19}

    def invalid(self, problem: SegmentedReduce, config: Config) -> str | None:
        threads, bytes_ = config["THREADS"], CARRIED_BYTES[problem.carried]
        return beyond_block(threads, threads * (config["PER"] * bytes_ + 2 * bytes_ + 4) + 4)

    def workspace(self, problem: SegmentedReduce, config: Config) -> dict[str, int]:
        return left_by_tiles(problem, _tiles(problem, config), config["THREADS"])

    def steps(self, problem: SegmentedReduce, config: Config) -> tuple[Step, ...]:
        """The search of tiles' first segments, the tiles, and the join of segments across tiles."""
        tiles, block = _tiles(problem, config), (config["THREADS"], 1, 1)
        starts = (blocks(tiles + 1, config["THREADS"]), 1, 1)
        sizes = np.int64(problem.segments), np.int64(problem.count)
        return (
            Step(
                Launch(self.kernel("partition"), starts, block),
                ("offsets", "tile_ends", *sizes, tiles),
            ),
            Step(
                Launch(self.kernel("reduce_tiles"), (tiles, 1, 1), block),
                ("x", "offsets", "results", "tile_ends", "heads", "tails", *sizes),
            ),
            *joined(self, tiles, config["THREADS"]),
        )

    def accesses(self, problem: SegmentedReduce, config: Config) -> Counted:
        """As many items a thread, elements and ends, whatever the segments' lengths are."""
        size, offset = (array.numpy.itemsize for array in problem.input_arrays)
        tiles, items = _tiles(problem, config), problem.count + problem.segments
        searches = (problem.segments + 1).bit_length()
        per = config["PER"]
        partition = scattered_loads((tiles + 1) * searches) + stored_beside(tiles + 1, 8)
        partition += chain((tiles + 1) * searches, searches)
        made = beside(problem.count, size) + beside(problem.segments, offset)
        made += stored_beside(problem.segments) + stored_apart(2 * tiles)
        within = (config["THREADS"] * per).bit_length()
        threads = tiles * config["THREADS"]
        made += chain(items + within * threads, per + within)
        made += Accesses(shared_reads=(items + within * threads) / WARP)
        made += warp_tree(config["THREADS"], tiles)
        found = {self.kernel("partition"): partition, self.kernel("reduce_tiles"): made}
        return {**found, **joining(self, problem, tiles, config["THREADS"])}


def _tiles(problem: SegmentedReduce, config: Config) -> int:
    return blocks(problem.count + problem.segments, config["THREADS"] * config["PER"])


STRATEGY = Balanced()
