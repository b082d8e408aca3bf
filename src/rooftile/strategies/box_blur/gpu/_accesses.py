"""Accesses of the rungs of `box_blur`; elements are bytes."""

from __future__ import annotations

from rooftile.analysis.access import SECTOR_BYTES
from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    inside,
    row_loads,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.strategies.common.grid import blocks

_PIECE = 16
"""Bytes of the largest load."""


def of_windows(problem: BoxBlur, across: int, down: int) -> Accesses:
    """A thread a byte, which loads its window: a byte for each addition."""
    lanes, window = min(across, WARP), problem.window**2
    every = row_loads(problem.columns, problem.height * window, lanes=lanes, elem_bytes=1)
    share = problem.flops / every.loads
    found = Accesses(problem.flops, every.load_requests * share, every.load_sectors * share)
    return found + _results(problem, across, down)


def of_tiles(problem: BoxBlur, across: int, down: int) -> Accesses:
    """A block loads its tile and what its windows reach; zeros stand for what is outside."""
    radius, halo = problem.radius, problem.radius * problem.channels
    wide, high = across + 2 * halo, down + 2 * radius
    across_tiles, below = blocks(problem.columns, across), blocks(problem.height, down)
    columns = sum(
        inside(tile * across - halo, wide, problem.columns) for tile in range(across_tiles)
    )
    rows = sum(inside(tile * down - radius, high, problem.height) for tile in range(below))
    lanes = min(across, WARP)
    every = row_loads(wide, rows * across_tiles, lanes=lanes, elem_bytes=1)
    share = columns / (across_tiles * wide)
    found = Accesses(rows * columns, every.load_requests, every.load_sectors * share)
    reads = across_tiles * below * warps_of(across * down) * problem.window**2
    return found + Accesses(shared_reads=reads) + _results(problem, across, down)


def of_spans(problem: BoxBlur, spans: float, span: int, halo: int, quads: float) -> Accesses:
    """``spans`` spans of bytes, loaded with a ``halo`` on either side by each thread itself.

    Counted as if none met an edge.  ``quads`` are the vectors of four sums that are read from
    shared memory, each four passes a warp.
    """
    found = vector_loads(spans, span, elem_bytes=1)
    if span > _PIECE:
        # Each lane's pieces lie in sectors of their own.
        pieces = span // _PIECE
        found = Accesses(found.loads, pieces * found.load_requests, pieces * spans)
    if halo:
        found += Accesses(2 * halo * spans, 2 * spans / WARP, 2 * spans)
    made = problem.height * problem.columns
    stores = Accesses(stores=made, store_sectors=made / SECTOR_BYTES)
    return found + stores + Accesses(shared_reads=4 * quads / WARP)


def _results(problem: BoxBlur, across: int, down: int) -> Accesses:
    stores = row_stores(problem.columns, problem.height, lanes=min(across, WARP), elem_bytes=1)
    guard = guard_2d(problem.columns, problem.height, across, down)
    return stores + Accesses(divergent_warps=guard)
