"""Accesses of kernels of weighted sums over volumes, on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rooftile.analysis.access import bank_conflicts
from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    row_loads,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.ops.patterns.volumes import Size3, VolumeProblem, before
from rooftile.strategies.common.grid import blocks

Covered = tuple[Size3, Size3]
"""The first place of which a sum is made, and at how many places one is."""


def results(problem: VolumeProblem, launches: int, lanes: int) -> Accesses:
    """Storing the result, and the grids of the launches before the last, by rows."""
    volumes = problem.images * problem.maps
    planes, rows, columns = problem.output_size
    found = row_stores(columns, volumes * planes * rows, lanes=min(WARP, lanes))
    planes, rows, columns = problem.size
    return found + row_stores(columns, (launches - 1) * planes * rows, lanes=min(WARP, lanes))


def thread_a_sum(
    problem: VolumeProblem, covered: Covered, threads: Size3, *, weights: bool
) -> Accesses:
    """A thread a sum: under each tap it reads an input, and with ``weights`` a weight, which is one
    address for a whole warp; ghost cells are not read."""
    first, count = covered
    lanes = min(WARP, threads[2])
    reads = problem.steps * problem.images * problem.maps * problem.channels * taps_of(problem)
    real = _share(
        [f - b for f, b in zip(first, before(problem.mask), strict=True)],
        [(n, m) for n, m in zip(count, problem.mask, strict=True)],
        problem.size,
    )
    found = row_loads(count[2], reads * count[0] * count[1] * real, lanes=lanes)
    if weights:
        warps = math.prod(count) / WARP
        found += broadcasts(reads * warps)
    return found + results(problem, problem.steps, lanes)


def tile_loads(
    problem: VolumeProblem, covered: Covered, sums: Size3, loaded: Size3, *, vector: int = 1
) -> Accesses:
    """Loading the tile of each channel, for every map and step; ghost cells are not read."""
    first, count = covered
    tiles, real = 1, 1
    for axis, ghosts in enumerate(before(problem.mask)):
        starts = range(first[axis], first[axis] + count[axis], sums[axis])
        tiles *= len(starts)
        size = problem.size[axis]
        real *= sum(inside(start - ghosts, loaded[axis], size) for start in starts)
    passes = problem.images * problem.maps * problem.channels
    whole = tiles * math.prod(loaded)
    if vector > 1:
        return vector_loads(passes * real / vector, vector)
    return linear_loads(passes * whole, loaded[2], share=real / whole)


def tiles_of(problem: VolumeProblem, covered: Covered, sums: Size3) -> int:
    """Tiles of one launch, of all images and maps."""
    counts = (blocks(n, size) for n, size in zip(covered[1], sums, strict=True))
    return math.prod(counts) * problem.images * problem.maps


def active_warps(sums: Size3, threads: Size3) -> tuple[int, int]:
    """Warps of a block with any thread that makes a sum, and the number of them with an idle
    thread."""
    active, mixed = 0, 0
    _, height, width = threads
    for warp in range(warps_of(math.prod(threads))):
        numbers = range(warp * WARP, min((warp + 1) * WARP, math.prod(threads)))
        working = [
            t // (height * width) < sums[0]
            and t // width % height < sums[1]
            and t % width < sums[2]
            for t in numbers
        ]
        active += any(working)
        mixed += any(working) and not all(working)
    return active, mixed


def column_conflicts(threads: Size3, pitch: int) -> int:
    """Passes of a warp's read of a plane in shared memory, a lane a column."""
    _, height, width = threads
    lanes = (divmod(t, width) for t in range(min(WARP, height * width)))
    return bank_conflicts(i * pitch + j for i, j in lanes)


def taps_of(problem: VolumeProblem) -> int:
    """Taps of a mask that count."""
    if problem.star:
        return sum(size - 1 for size in problem.mask) + 1
    return math.prod(problem.mask)


def _share(starts: Sequence[int], runs: Sequence[tuple[int, int]], sizes: Size3) -> float:
    """Share of taps inside the volume: along each axis of ``runs`` of places with a mask each."""
    share = 1.0
    for start, (places, mask), size in zip(starts, runs, sizes, strict=True):
        real = sum(inside(start + place, mask, size) for place in range(places))
        share *= real / (places * mask)
    return share
