"""`by_tiles`: a tile in shared memory, a short segment a thread, a long one a warp."""

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
    vector_loads,
)
from rooftile.analysis.cooperation import chain, warp_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_reduce.gpu._base import MOST_BLOCKS, GpuSegmented, lengths
from rooftile.strategies.segmented_reduce.gpu._join import joined, joining, left_by_tiles

_SHORT = 96
"""The most elements of a segment that one thread takes."""
_SYSTEMS = 1024
"""Bytes of a block's shared memory that the system takes."""


class ByTiles(GpuSegmented):
    """Results are the same in every run; a long segment's elements are combined out of order."""

    name = "by_tiles"
    devices = ("cuda",)
    summary = "a tile in shared memory, a short segment a thread, a long one a warp"
    summing = "reduce_tiles"
    tunables = (
        Tunable("THREADS", (128, 256, 512), 128),
        Tunable("PER", (16, 32), 32),
        Tunable("RESIDENT", (1, 2, 4, 5, 6, 8, 10), 10),
    )

    def limits(self, problem: SegmentedReduce) -> str | None:
        if _tiles(problem, self.defaults(problem)) > MOST_BLOCKS:
            return f"{problem.count} elements"
        return super().limits(problem)

    def defaults(self, problem: SegmentedReduce) -> dict[str, int]:
        """Tiles of as many elements, of 128 threads where warps have long segments to take; fewer
        where numbers in shared memory are long."""
        small = lengths(problem) <= _SHORT or CARRIED_BYTES[problem.carried] == 8
        threads, per, wanted = (256, 16, 8) if small else (128, 32, 10)
        resident = self.machine.shared_bytes // (_shared_bytes(problem, threads * per) + _SYSTEMS)
        return {"THREADS": threads, "PER": per, "RESIDENT": max(1, min(wanted, resident))}

    def invalid(self, problem: SegmentedReduce, config: Config) -> str | None:
        needed = _shared_bytes(problem, config["THREADS"] * config["PER"])
        room = self.machine.shared_room(config["RESIDENT"])
        if needed > room:
            return f"{needed:,} bytes of shared memory a block, at most {room:,}"
        return beyond_block(config["THREADS"], needed)

    def macros(self, problem: SegmentedReduce, config: Config) -> dict[str, int | str]:
        return {**super().macros(problem, config), "SHORT": _SHORT}

    def workspace(self, problem: SegmentedReduce, config: Config) -> dict[str, int]:
        return left_by_tiles(problem, _tiles(problem, config), config["THREADS"])

    def steps(self, problem: SegmentedReduce, config: Config) -> tuple[Step, ...]:
        tiles, block = _tiles(problem, config), (config["THREADS"], 1, 1)
        starts = (blocks(tiles + 1, config["THREADS"]), 1, 1)
        segments, count = np.int64(problem.segments), np.int64(problem.count)
        return (
            Step(
                Launch(self.kernel("find_ends"), starts, block),
                ("offsets", "tile_ends", segments, tiles),
            ),
            Step(
                Launch(self.kernel("reduce_tiles"), (tiles, 1, 1), block),
                ("x", "offsets", "results", "tile_ends", "heads", "tails", count),
            ),
            *joined(self, tiles, config["THREADS"]),
        )

    def accesses(self, problem: SegmentedReduce, config: Config) -> Counted:
        """Segments of one length: elements by wide loads, once; an end twice, by its segment and by
        the next one."""
        size, offset = (array.numpy.itemsize for array in problem.input_arrays)
        tiles, threads = _tiles(problem, config), config["THREADS"]
        searches = (problem.segments + 1).bit_length()
        starts = scattered_loads(tiles * searches) + stored_beside(tiles + 1, 8)
        starts += chain(tiles * searches, searches)
        wide = 16 // size
        made = vector_loads(blocks(problem.count, wide), wide, size)
        made += beside(2 * problem.segments, offset) + stored_beside(problem.segments)
        made += stored_apart(2 * tiles) + Accesses(shared_reads=problem.count / WARP)
        length = lengths(problem)
        made += chain(problem.count, length if length <= _SHORT else blocks(length, WARP))
        if length > _SHORT:
            made += warp_tree(WARP, problem.segments)
        return {
            self.kernel("find_ends"): starts,
            self.kernel("reduce_tiles"): made,
            **joining(self, problem, tiles, threads),
        }


def _shared_bytes(problem: SegmentedReduce, tile: int) -> int:
    """A tile's elements, and the list of its long segments."""
    return CARRIED_BYTES[problem.carried] * tile + 12 * (tile // _SHORT + 2) + 4


def _tiles(problem: SegmentedReduce, config: Config) -> int:
    return blocks(problem.count, config["THREADS"] * config["PER"])


STRATEGY = ByTiles()
