"""Common parts of the models of `conv2d` rungs' accesses.

Lanes of a warp stand for neighbouring results of a row, which under one tap read inputs a stride
apart; ghost cells are not read.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    linear_stores,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.analysis.launch import ceil_div
from rooftile.analysis.traffic import matmul_tile
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import MOST_BLOCKS
from rooftile.strategies.contract.gpu import Config


def window(problem: Conv2d) -> tuple[tuple[int, int], tuple[int, int]]:
    """The pool's window and stride; 1 x 1 without a pool."""
    pool = problem.pool
    return (pool.window, pool.stride) if pool else ((1, 1), (1, 1))


def positions_of(problem: Conv2d) -> int:
    """Convolution outputs behind a result."""
    return math.prod(window(problem)[0])


def result_stride(problem: Conv2d, axis: int = 1) -> int:
    """Distance of neighbouring results' inputs in columns, or on axis 0 in rows."""
    return window(problem)[1][axis] * problem.stride[axis]


def real_taps(problem: Conv2d, axis: int, *, once: bool = False) -> int:
    """Taps of one axis that meet no ghost cell, over all results and their windows.

    With ``once``, over the convolution outputs that the pool reads, each of which counts once
    even where windows overlap.  Replicas are real inputs.
    """
    size, apart = (problem.height, problem.width)[axis], problem.dilation[axis]
    (windows, strides), results = window(problem), problem.output_size[axis]
    places = [r * strides[axis] + a for r in range(results) for a in range(windows[axis])]
    if problem.ghosts == "replicate":
        return problem.mask[axis] * len(set(places) if once else places)
    return sum(
        sum(
            inside(at * problem.stride[axis] - problem.padding[axis] + tap * apart, 1, size)
            for tap in range(problem.mask[axis])
        )
        if apart > 1
        else inside(at * problem.stride[axis] - problem.padding[axis], problem.mask[axis], size)
        for at in (set(places) if once else places)
    )


def real_share(problem: Conv2d, *, once: bool = False) -> float:
    """Share of all taps that meet no ghost cell."""
    share = 1.0
    for axis in (0, 1):
        places = problem.output_size[axis] * window(problem)[0][axis]
        if once:
            places = problem.conv_read[axis]
        share *= real_taps(problem, axis, once=once) / (places * problem.mask[axis])
    return share


def thread_a_result(
    problem: Conv2d, launch: Launch, *, weights: bool, along_rows: bool = False
) -> Accesses:
    """A thread a result: under each tap it reads an input, and with ``weights`` a weight, which is
    one address of global memory for a whole warp.

    Lanes are neighbours in a row, or with ``along_rows`` in a column."""
    (across, down, _), (rows, columns) = launch.block, problem.output_size
    lanes = min(across, WARP)
    planes, taps = problem.batch * problem.maps, math.prod(problem.mask)
    reads = planes * (problem.channels // problem.groups) * taps * positions_of(problem)
    length, lines = (rows, columns) if along_rows else (columns, rows)
    warps = ceil_div(lines, min(WARP // lanes, down)) * ceil_div(length, lanes)
    share = real_share(problem)
    stride = result_stride(problem, 0) * problem.width if along_rows else result_stride(problem)
    found = row_loads(length, reads * lines * share, stride=stride, lanes=lanes)
    if weights:
        found += broadcasts(reads * warps, rows * columns / warps)
    found += broadcasts(planes * positions_of(problem) * warps, rows * columns / warps)
    found += row_stores(length, planes * lines, stride=columns if along_rows else 1, lanes=lanes)
    layers = min(planes, MOST_BLOCKS)
    return found + Accesses(divergent_warps=layers * guard_2d(length, lines, across, down))


def tiled_product(rows: int, inner: int, columns: int, config: Config) -> Accesses:
    """Weights of a product in tiles of TILE_MAPS x TILE_COLUMNS, a thread a sum, and its reads of
    shared memory."""
    high, wide, deep = config["TILE_MAPS"], config["TILE_COLUMNS"], config["TILE_TAPS"]
    tiles = matmul_tile(rows, inner, columns, high, wide)
    alignment = math.gcd(inner, deep, SECTOR_FLOATS)
    found = row_loads(inner, tiles.m_loads / inner, lanes=min(deep, WARP), alignment=alignment)
    blocks = ceil_div(rows, high) * ceil_div(columns, wide)
    stages = ceil_div(inner, deep) * deep
    # A column's value each step; a row's four at a time, at one address.
    reads = blocks * warps_of(high * wide) * stages * (1 + 1 / 4)
    return found + Accesses(shared_reads=reads)


def finish_sums(problem: Conv2d) -> Accesses:
    """Bias, activation and pool of sums that lie in memory, a lane a result."""
    (_, across), results = window(problem), math.prod(problem.output_shape)
    pool = problem.pool
    # Where windows leave gaps, the sums lie close together.
    step = min(across[1], pool.window[1]) if pool else 1
    found = linear_loads(results * positions_of(problem), problem.output_size[1], stride=step)
    return found + broadcasts(results / WARP) + linear_stores(results)
