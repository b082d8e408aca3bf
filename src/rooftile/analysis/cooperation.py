"""Accesses and steps of threads that combine their values: trees and scans of blocks, chains,
atomics.

Counted are work (operations), steps (dependent operations), divergence, and passes of shared memory
with their bank conflicts; ``blocks`` run at the same time, so that the steps are one block's.

Source: PMPP, chapters 9 (atomics), 10 (reductions) and 11 (scans).
"""

from __future__ import annotations

import math
from dataclasses import replace

from rooftile.analysis.access import SECTOR_BYTES, stride_conflicts
from rooftile.analysis.accesses import WARP, Accesses
from rooftile.analysis.divergence import Mapping, ScanAlgorithm, reduction_step, scan_step
from rooftile.analysis.launch import ceil_div
from rooftile.analysis.work import scan

_STATE_BYTES = 8
_SHUFFLES = WARP.bit_length() - 1


def chain(operations: float, steps: float) -> Accesses:
    """Operations that threads do in registers, the longest of them ``steps`` one after another."""
    return Accesses(operations=operations, steps=steps)


def through(read: float, written: float, operations: float, steps: float) -> Accesses:
    """A part of a CPU's work: elements read and written, operations, the longest chain of them."""
    return Accesses(loads=read, stores=written, operations=operations, steps=steps)


def in_turn(made: Accesses, turns: int) -> Accesses:
    """The accesses of blocks in ``turns`` consecutive turns, from the counts of all turns together.

    Their steps add up; the same warps diverge in each turn.
    """
    diverging = ceil_div(made.divergent_warps, turns)
    return replace(made, steps=turns * made.steps, divergent_warps=diverging)


def tree_depth(count: int) -> int:
    """Passes of a tree over ``count`` values: ceil(log2(count))."""
    return max(0, count - 1).bit_length()


def shared_tree(
    pairs: int, mapping: Mapping, blocks: float, words: int = 1, in_warp: int = 1
) -> Accesses:
    """A block's tree over 2 x pairs values of ``words`` words in shared memory.

    ``in_warp`` such blocks, or teams narrower than a warp, share each warp and its requests.

    An operation reads two values, each a request of its warp.  ``interleaved`` and ``compacted``
    read 2 x stride words apart in a pass, ``sequential`` neighbours.
    """
    found, divergent = Accesses(), set[int]()
    stride = 1
    while stride <= pairs:
        step = reduction_step(pairs, stride, mapping)
        lanes = min(WARP, step.active_threads)
        if mapping == "interleaved":
            lanes = min(lanes, max(1, WARP // stride))
        turns = stride_conflicts(1 if mapping == "sequential" else 2 * stride, lanes)
        requests = 2 * words * step.active_warps * blocks
        found += Accesses(shared_reads=requests, conflicts=requests * (turns - 1))
        found += chain(step.active_threads * blocks, 1)
        divergent |= step.divergent
        stride *= 2
    return replace(
        found,
        shared_reads=found.shared_reads / in_warp,
        conflicts=found.conflicts / in_warp,
        divergent_warps=math.ceil(len(divergent) * blocks / in_warp),
    )


def warp_tree(threads: int, blocks: float) -> Accesses:
    """A block's tree by shuffles, in every warp and then in the first, which reads what warps have.

    All lanes compute, whether their result counts or not.
    """
    warps = ceil_div(threads, WARP)
    rounds = _SHUFFLES * (warps + 1) * WARP
    return chain(rounds * blocks, 2 * _SHUFFLES) + Accesses(shared_reads=blocks)


def block_scan(algorithm: ScanAlgorithm, n: int, blocks: float, words: int = 1) -> Accesses:
    """A block's scan of n values of ``words`` words in shared memory; see `work.scan`.

    An addition reads two values.  Kogge-Stone's are neighbours; Brent-Kung's are 2 x stride words
    apart.
    """
    counted = scan(algorithm, n)
    found, divergent = chain(counted.adds * blocks, counted.passes), set[int]()
    strides = [1 << k for k in range((n - 1).bit_length())]
    if algorithm == "brent_kung":
        strides += strides[-2::-1]
    for stride in strides:
        step = scan_step(algorithm, n, stride)
        lanes = min(WARP, step.active_threads)
        turns = stride_conflicts(1 if algorithm == "kogge_stone" else 2 * stride, max(1, lanes))
        requests = 2 * words * step.active_warps * blocks
        found += Accesses(shared_reads=requests, conflicts=requests * (turns - 1))
        divergent |= step.divergent
    return found + Accesses(divergent_warps=round(len(divergent) * blocks))


def run_scan(threads: int, run: int, blocks: float, words: int = 1) -> Accesses:
    """A section of runs in shared memory: each thread scans its run, passes scan the runs' ends,
    and each thread adds its run's prefix. A gap after each run keeps banks apart."""
    warps = ceil_div(threads, WARP)
    own = (2 * run - 1) * threads - run
    reads = words * warps * (2 * run + 1) * blocks
    return (
        chain(own * blocks, 2 * run - 1)
        + Accesses(shared_reads=reads)
        + block_scan("kogge_stone", threads, blocks, words)
    )


def vector_scan(elements: float, width: int, rows: int, warps: int) -> Accesses:
    """Rows of vectors that warps scan in registers; warps of a tile meet once.

    First the elements of each vector, then their sums by shuffles, then what is before them."""
    vectors = elements / width
    work = (width - 1 + _SHUFFLES + 2 + width) * vectors
    tiles = vectors / (WARP * rows * warps)
    meeting = Accesses(shared_reads=2 * warps * tiles) if warps > 1 else Accesses()
    return chain(work, width - 1 + _SHUFFLES + rows + warps + 1) + meeting


def looking_back(tiles: int, value_words: int, resident: int) -> Accesses:
    """Accesses by which the tiles of a single pass exchange sums in groups of 32, if none polls
    twice.

    A tile draws its number from one counter, publishes its value, and reads the states of the tiles
    before it in its group and of 32 groups, a lane each; a group's last tile publishes twice more.
    The tiles that are ``resident`` at a time wait for each other; the next ones come after them.
    """
    words = tiles * (1 + 2 / WARP) * value_words
    looks = 2 * WARP * tiles * value_words
    return Accesses(
        loads=looks,
        load_requests=looks / WARP,
        load_sectors=looks * _STATE_BYTES / SECTOR_BYTES,
        stores=words,
        store_sectors=words,
        atomics=tiles,
        turns=tiles,
        turns_if_equal=tiles,
        operations=2 * WARP * tiles,
        steps=2 * _SHUFFLES * ceil_div(tiles, resident),
    )


def increments(
    count: float, bins: int, addresses: float, *, shared: bool = False, blocks: float = 1
) -> Accesses:
    """One atomic an element on ``bins`` addresses, of which there are copies for all ``addresses``
    groups of threads; atomics on shared memory are no traffic of the L2 cache.

    The busiest address takes count / (bins x addresses) of them in turn if elements fall evenly,
    and count / addresses if all are equal.
    """
    equal = count / addresses
    evenly = max(min(1.0, count), equal / bins)
    made = Accesses(operations=count, turns=evenly, turns_if_equal=equal)
    if shared:
        return made + Accesses(shared_reads=count / WARP)
    return made + Accesses(atomics=count)
