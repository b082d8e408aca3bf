"""Accesses of the tiled rungs of `linear` and `matmul`."""

from __future__ import annotations

import math
from dataclasses import replace

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.analysis.traffic import matmul_tile
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks


def of_tiles(
    problem: Matmul,
    tile: tuple[int, int],
    lanes: tuple[int, int, int],
    threads: tuple[int, int],
    reads: float,
    *,
    turned: bool = False,
) -> Accesses:
    """Tiles of results, ``tile``: the textbook's count of loads.

    ``lanes`` of a warp read neighbours of a, as many as a tile is deep, neighbours of b, and store
    neighbours. A block has ``threads`` across and down; each of its warps makes ``reads`` passes of
    shared memory a term, terms beyond the last included. Where loads are ``turned``, lanes walk
    along a transposed matrix as along another.
    """
    (rows, inner, columns), (down, across) = _sizes(problem), tile
    counted, beside = matmul_tile(rows, inner, columns, down, across), max(1, WARP // threads[0])
    found = _lines(inner, rows, counted.m_loads, (lanes[0], beside), problem.transpose_a, turned)
    found += _lines(
        columns, inner, counted.n_loads, (lanes[1], beside), problem.transpose_b, turned
    )
    found += row_stores(columns, rows, lanes=lanes[2])
    warps = blocks(rows, down) * blocks(columns, across) * warps_of(math.prod(threads))
    guard = guard_2d(columns, rows, across, down) if threads == (across, down) else 0
    terms = blocks(inner, lanes[0]) * lanes[0]
    return found + Accesses(shared_reads=warps * terms * reads, divergent_warps=guard)


def _lines(
    length: int,
    count: int,
    loads: int,
    lanes: tuple[int, int],
    transposed: bool,
    turned: bool,
) -> Accesses:
    """Loads of a matrix [count][length], or of its transpose. Of a warp's ``lanes`` the first
    number want neighbours of a line, and the second the same of the next lines, which are
    neighbours in a transposed matrix; unless they have ``turned`` to walk along its own lines."""
    if transposed and turned:
        length, count, transposed = count, length, False
    along, beside = lanes
    if transposed:
        alignment = math.gcd(count, beside, SECTOR_FLOATS)
        found = row_loads(count, loads // count, lanes=beside, alignment=alignment)
    else:
        alignment = math.gcd(length, along, SECTOR_FLOATS)
        found = row_loads(length, loads // length, lanes=along, alignment=alignment)
    return replace(found, load_requests=loads / (along * beside))


def of_strips(problem: Matmul, tile: int) -> Accesses:
    """Tiles a single term deep, which a block's first ``tile`` threads load.

    Threads walk down a and along b; the others of their warps load nothing.
    """
    (rows, inner, columns), found = _sizes(problem), Accesses()
    down, across = blocks(rows, tile), blocks(columns, tile)
    strides = (1 if problem.transpose_a else inner, inner if problem.transpose_b else 1)
    for length, times, stride in ((rows, across, strides[0]), (columns, down, strides[1])):
        runs = row_loads(length, inner * times, stride=stride, lanes=tile)
        found += replace(runs, load_requests=runs.load_requests * WARP / tile)
    warps = down * across * warps_of(tile * tile)
    reads = Accesses(
        shared_reads=2 * inner * warps, divergent_warps=guard_2d(columns, rows, tile, tile)
    )
    return found + row_stores(columns, rows, lanes=tile) + reads


def of_bias(operands: tuple[str, ...], problem: Matmul, lanes: int) -> Accesses:
    """A bias, the third operand, whose adjacent elements a row's lanes read; nothing where two
    matrices are all."""
    if len(operands) < 3:
        return Accesses()
    return row_loads(problem.columns, problem.rows, lanes=min(WARP, lanes))


def _sizes(problem: Matmul) -> tuple[int, int, int]:
    return problem.rows, problem.inner, problem.columns
