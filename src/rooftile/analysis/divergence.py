"""Warps whose threads disagree on a condition: control divergence.

A warp diverges where some of its threads take a branch and some do not; threads that an
under-filled last warp lacks do not count.  `simulate` asks a predicate of every thread; the
closed forms count, in each warp, how many threads are active: with A(t) active ones among a
block's first t threads, warp w has A(min(32 w + 32, threads)) - A(32 w), and diverges where
that is neither none nor all.

Source: PMPP, section 4.5 (guards), 10.4 to 10.5 (reductions), 11.2 and 11.4 (scans).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rooftile.analysis.launch import Grid, Index, ceil_div, linear_index
from rooftile.errors import InputError, unknown
from rooftile.ops.checks import check_positive

Guard = Callable[[Index, Index], bool]
"""``guard(block index, thread index)``: whether the thread takes the branch."""
ActiveBefore = Callable[[int], int]
"""A(t): how many of a block's first t threads are active."""
Place = tuple[int, int, int]
"""Block, warp in the block, and pass of the loop from 1."""
Mapping = Literal["interleaved", "sequential", "compacted"]
"""The threads that add in a pass of a reduction; see `reduction_step`."""
ScanAlgorithm = Literal["kogge_stone", "brent_kung"]


@dataclass(frozen=True)
class Activity:
    """Threads of one block on one condition."""

    active_threads: int
    active_warps: int
    """Warps with at least one active thread."""
    divergent: frozenset[int]
    """Warps with active and inactive threads."""

    @property
    def divergent_warps(self) -> int:
        """Number of warps that diverge."""
        return len(self.divergent)


def simulate(grid: Grid, guard: Guard, warp: int = 32) -> list[tuple[int, int]]:
    """Block and warp of every warp that diverges on a guard, by asking all threads."""
    check_positive(warp=warp)
    found = []
    for block in grid.block_indices():
        threads = grid.thread_indices()
        for w in range(grid.block_warps(warp)):
            taken = {bool(guard(block, thread)) for thread in itertools.islice(threads, warp)}
            if len(taken) == 2:
                found.append((linear_index(block, grid.blocks), w))
    return found


def activity(active_before: ActiveBefore, threads: int, warp: int = 32) -> Activity:
    """A block's warps from the count A(t) of active threads; the closed forms rest on it."""
    check_positive(threads=threads, warp=warp)
    divergent, active_warps = set(), 0
    for w, first in enumerate(range(0, threads, warp)):
        last = min(first + warp, threads)
        active = active_before(last) - active_before(first)
        active_warps += active > 0
        if 0 < active < last - first:
            divergent.add(w)
    return Activity(active_before(threads), active_warps, frozenset(divergent))


def rectangle(columns: int, rows: int, width: int) -> ActiveBefore:
    """A(t) of ``x < columns && y < rows`` in a block ``width`` threads wide.

    A(t) = min(t div width, rows) columns + [t div width < rows] min(t mod width, columns).
    """
    check_positive(width=width)
    columns, rows = min(max(columns, 0), width), max(rows, 0)

    def active_before(thread: int) -> int:
        y, x = divmod(thread, width)
        return min(y, rows) * columns + (min(x, columns) if y < rows else 0)

    return active_before


def block_values(
    width: int, height: int, block_x: int, block_y: int, warp: int = 32
) -> dict[int, int]:
    """Number of blocks by their number of warps that diverge on ``col < width && row < height``.

    Blocks are of four kinds (inside, right edge, bottom edge, corner), with as many valid
    columns and rows as are left.
    """
    check_positive(width=width, height=height, block_x=block_x, block_y=block_y)
    counts: dict[int, int] = {}
    for columns, across in _edges(width, block_x):
        for rows, down in _edges(height, block_y):
            guard = rectangle(columns, rows, block_x)
            warps = activity(guard, block_x * block_y, warp).divergent_warps
            counts[warps] = counts.get(warps, 0) + across * down
    return counts


def guard_2d(width: int, height: int, block_x: int, block_y: int, warp: int = 32) -> int:
    """Warps of the covering grid that diverge on ``col < width && row < height``.

    PMPP, section 4.5.
    """
    values = block_values(width, height, block_x, block_y, warp)
    return sum(warps * blocks for warps, blocks in values.items())


def guard_1d(n: int, per_thread: int, threads: int, warp: int = 32) -> list[Place]:
    """Warps that diverge on ``i < n`` where a block owns ``per_thread`` sections of ``threads``.

    i = (block x per_thread + section) threads + thread, so only the warp that n falls into
    diverges: section n div threads of all, thread n mod threads, unless a warp begins there.
    """
    check_positive(n=n, per_thread=per_thread, threads=threads, warp=warp)
    section, thread = divmod(n, threads)
    if thread % warp == 0:
        return []
    block, within = divmod(section, per_thread)
    return [(block, thread // warp, within + 1)]


def grid_stride(n: int, blocks: int, threads: int, warp: int = 32) -> list[Place]:
    """Warps that diverge on ``i < n`` in a loop over i by steps of the grid's size.

    i = (pass - 1) blocks threads + block threads + thread; as in `guard_1d` at most one warp
    diverges.  PMPP, section 9.5 (interleaved partitioning).
    """
    check_positive(n=n, blocks=blocks, threads=threads, warp=warp)
    section, thread = divmod(n, threads)
    if thread % warp == 0:
        return []
    before, block = divmod(section, blocks)
    return [(block, thread // warp, before + 1)]


def reduction_step(threads: int, stride: int, mapping: Mapping, warp: int = 32) -> Activity:
    """One pass of a block's sum of 2 x threads values in shared memory.

    ``interleaved``: t mod stride = 0 adds at 2t; A(t) = ceil(t / stride).
    ``sequential``: t < stride adds; A(t) = min(t, stride).
    ``compacted``: t < threads div stride adds at 2 t stride; A(t) = min(t, threads div stride).
    PMPP, figures 10.6 and 10.9.
    """
    check_positive(threads=threads, stride=stride)
    forms: dict[str, ActiveBefore] = {
        "interleaved": lambda t: ceil_div(t, stride),
        "sequential": lambda t: min(t, stride),
        "compacted": lambda t: min(t, threads // stride),
    }
    if mapping not in forms:
        raise unknown("mapping", mapping, forms)
    return activity(forms[mapping], threads, warp)


def reduction_passes(threads: int, mapping: Mapping, warp: int = 32) -> tuple[int, int]:
    """Passes of a whole reduction of 2 x threads values, and those with a divergent warp.

    Strides double from 1 to at most ``threads``, or halve from ``threads`` to 1.
    """
    check_positive(threads=threads)
    steps = [reduction_step(threads, s, mapping, warp) for s in _strides(threads, mapping)]
    return len(steps), sum(step.divergent_warps > 0 for step in steps)


def scan_step(algorithm: ScanAlgorithm, n: int, stride: int, warp: int = 32) -> Activity:
    """One pass of a block's scan of n elements.

    ``kogge_stone``, n threads: t >= stride adds; A(t) = max(0, t - stride).
    ``brent_kung``, ceil(n / 2) threads, reduction phase: (t + 1) 2 stride - 1 < n adds;
    A(t) = min(t, n div (2 stride)).  PMPP, sections 11.2 and 11.4.
    """
    check_positive(n=n, stride=stride)
    if algorithm == "kogge_stone":
        return activity(lambda t: max(0, t - stride), n, warp)
    if algorithm == "brent_kung":
        return activity(lambda t: min(t, n // (2 * stride)), ceil_div(n, 2), warp)
    raise InputError("algorithm", repr(algorithm), "kogge_stone or brent_kung")


def matmul_load(width: int, tile: int, warp: int = 32) -> int:
    """Largest number of one block's warps that diverge at any load of the M tile.

    Square matrices, tile x tile threads, each loads M[row][pass x tile + tx] if both are
    within the width.  PMPP, figure 5.13.
    """
    check_positive(width=width, tile=tile)
    most = 0
    for rows, _ in _edges(width, tile):
        warps: set[int] = set()
        for columns, _ in _edges(width, tile):
            warps |= activity(rectangle(columns, rows, tile), tile * tile, warp).divergent
        most = max(most, len(warps))
    return most


def matmul_load_2x2(
    rows: int, inner: int, columns: int, tile: int, block: int, warp: int = 32
) -> int:
    """Warps of the grid that diverge at any bounds test of the M tile's loads, 2x2 a thread.

    M is rows x inner, the product rows x columns; block x block threads load a tile of twice
    their side, each the patch M[2 ty + i][2 tx + j] of its four elements: test (i, j) holds for
    ty < ceil((rows left - i) / 2) and tx < ceil((inner left - j) / 2).  PMPP, section 6.3.
    """
    check_positive(rows=rows, inner=inner, columns=columns, tile=tile, block=block)
    if tile != 2 * block:
        raise InputError("tile", tile, f"twice the block's side, {2 * block}")
    total = 0
    for rows_left, blocks in _edges(rows, tile):
        warps: set[int] = set()
        for inner_left, _ in _edges(inner, tile):
            for i, j in itertools.product((0, 1), (0, 1)):
                valid = rectangle(ceil_div(inner_left - j, 2), ceil_div(rows_left - i, 2), block)
                warps |= activity(valid, block * block, warp).divergent
        total += blocks * ceil_div(columns, tile) * len(warps)
    return total


def matmul_strip(width: int, tile: int, warp: int = 32) -> int:
    """Warps of the grid that diverge anywhere in the strip version of a square matmul.

    tile x tile threads; the threads of row 0 load a strip of ``tile`` elements of M (down its rows)
    and of N (along its columns) a step, each if within the width; all store theirs if within.
    Branches: ty = 0; in it tx < rows left and tx < columns left; then both at the store.
    """
    check_positive(width=width, tile=tile)
    threads, total = tile * tile, 0
    row_0 = activity(lambda t: min(t, tile), threads, warp).divergent
    for rows, down in _edges(width, tile):
        for columns, across in _edges(width, tile):
            warps = set(row_0)
            for left in (rows, columns):
                warps |= activity(rectangle(left, 1, tile), tile, warp).divergent
            warps |= activity(rectangle(columns, rows, tile), threads, warp).divergent
            total += down * across * len(warps)
    return total


def conv_input_block(out_tile: int, mask: int, warp: int = 32) -> int:
    """Divergent warps of an internal block of the convolution whose block is the input tile.

    (out_tile + mask - 1)^2 threads, of which those with tx and ty below ``out_tile`` sum.
    PMPP, section 7.4, figure 7.12.
    """
    check_positive(out_tile=out_tile, mask=mask)
    side = out_tile + mask - 1
    return activity(rectangle(out_tile, out_tile, side), side * side, warp).divergent_warps


def conv_linear_load(in_tile: int, mask: int, warp: int = 32) -> int:
    """Divergent warps where an output-tile-sized block fills the input tile by linear index.

    (in_tile - mask + 1)^2 threads take ceil(in_tile^2 / threads) passes; only in the last may
    a warp diverge on index < in_tile^2: where in_tile^2 mod threads is within a warp.
    """
    check_positive(in_tile=in_tile, mask=mask)
    if in_tile < mask:
        raise InputError("in_tile", in_tile, f"at least the mask, {mask}")
    threads = (in_tile - mask + 1) ** 2
    left = in_tile * in_tile % threads
    return activity(lambda t: min(t, left), threads, warp).divergent_warps


def _edges(size: int, tile: int) -> Iterator[tuple[int, int]]:
    """Pairs of a number of valid elements and the number of tiles that have it, for tiles that
    cover ``size``."""
    whole, rest = divmod(size, tile)
    if whole:
        yield tile, whole
    if rest:
        yield rest, 1


def _strides(threads: int, mapping: str) -> list[int]:
    if mapping == "sequential":
        return [threads >> k for k in range(threads.bit_length())]
    return [1 << k for k in range(threads.bit_length())]
