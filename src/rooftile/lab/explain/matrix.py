"""Accesses of the rungs that are matrix products: im2col of conv2d, and linear."""

from __future__ import annotations

import math

from rooftile.analysis.divergence import guard_1d, guard_2d
from rooftile.analysis.launch import ceil_div
from rooftile.analysis.traffic import matmul_tile
from rooftile.lab.explain.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    linear_loads,
    linear_stores,
    row_loads,
    row_stores,
    scattered_loads,
    vector_loads,
    warps_of,
)
from rooftile.lab.explain.conv2d_direct import finish_sums, positions_of, real_share, window
from rooftile.ops import Conv2d, Linear
from rooftile.strategies.gpu import Config

_TILE = 128
"""Pixels and maps of a block of im2col_register."""
_FLOATS = 4
"""Of a vector."""


def im2col(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """The unrolled matrix is written, read by the tiles of the product, and the sums again."""
    plane, taps = math.prod(problem.conv_read), problem.reduction - 1
    rows = problem.batch * taps
    unroll = linear_loads(
        rows * plane, problem.conv_read[1], stride=problem.stride[1],
        share=real_share(problem, once=True),
    ) + row_stores(plane, rows)  # fmt: skip
    columns, wide = problem.batch * plane, config["TILE_COLUMNS"]
    product = _product(problem.maps, taps, columns, config)
    lanes = min(WARP, wide)
    product += row_loads(
        columns, taps * ceil_div(problem.maps, config["TILE_MAPS"]), lanes=lanes,
        alignment=math.gcd(columns, SECTOR_FLOATS),
    )  # fmt: skip
    product += row_stores(columns, problem.maps, lanes=lanes)
    guard = guard_2d(columns, problem.maps, wide, config["TILE_MAPS"])
    return {
        "unroll": unroll,
        "multiply": product + Accesses(divergent_warps=guard),
        "finish": finish_sums(problem),
    }


def im2col_fused(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """The same tiles, gathered from the images, once for each position of the window."""
    places, taps = problem.batch * math.prod(problem.output_size), problem.reduction - 1
    positions, bands = positions_of(problem), ceil_div(problem.maps, config["TILE_MAPS"])
    stride = window(problem)[1][1] * problem.stride[1]
    found = linear_loads(
        places * taps * positions * bands, problem.output_size[1], stride=stride,
        share=real_share(problem),
    )  # fmt: skip
    for _ in range(positions):
        found += _product(problem.maps, taps, places, config)
    lanes = min(WARP, config["TILE_COLUMNS"])
    found += broadcasts(bands * config["TILE_MAPS"] * places / WARP)
    found += row_stores(math.prod(problem.output_size), problem.batch * problem.maps, lanes=lanes)
    guard = guard_2d(places, problem.maps, config["TILE_COLUMNS"], config["TILE_MAPS"])
    return {"conv2d": found + Accesses(divergent_warps=guard)}


def im2col_register(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """Tiles of 128 x 128; pixels follow each other window by window."""
    (high, wide), depth = window(problem)[0], problem.reduction - 1
    pixels = problem.batch * math.prod(problem.output_size) * high * wide
    padded = ceil_div(problem.maps, _TILE) * _TILE
    stages = ceil_div(depth, config["TILE_K"]) * config["TILE_K"]
    tiles = matmul_tile(padded, stages, ceil_div(pixels, _TILE) * _TILE, _TILE, _TILE)
    found = vector_loads(tiles.m_loads / _FLOATS)
    # A warp's pixels lie in `high` rows; windows beside each other are neighbours in a row.
    run = min(WARP // high, problem.output_size[1] * wide)
    found += row_loads(
        run, pixels * depth * padded / _TILE / run * real_share(problem),
        stride=problem.stride[1], lanes=run,
    )  # fmt: skip
    results = math.prod(problem.output_shape)
    found += broadcasts(results / WARP)
    # A thread stores neighbouring results of eight maps.
    found += row_stores(results, 1, lanes=min(WARP, SECTOR_FLOATS))
    warps = pixels / _TILE * padded / _TILE * SECTOR_FLOATS
    # Four vectors a thread and tap: 16 threads a warp read different ones of the pixels.
    return {"conv2d": found + Accesses(shared_reads=warps * stages * 4)}


def _product(rows: int, inner: int, columns: int, config: Config) -> Accesses:
    """Weights of a tiled product, and its reads of shared memory."""
    high, wide, deep = config["TILE_MAPS"], config["TILE_COLUMNS"], config["TILE_TAPS"]
    tiles = matmul_tile(rows, inner, columns, high, wide)
    alignment = math.gcd(inner, deep, SECTOR_FLOATS)
    found = row_loads(inner, tiles.m_loads / inner, lanes=min(deep, WARP), alignment=alignment)
    blocks = ceil_div(rows, high) * ceil_div(columns, wide)
    stages = ceil_div(inner, deep) * deep
    # A column's value each step; a row's four at a time, at one address.
    reads = blocks * warps_of(high * wide) * stages * (1 + 1 / _FLOATS)
    return found + Accesses(shared_reads=reads)


def linear_naive(problem: Linear, config: Config) -> dict[str, Accesses]:
    """A lane an output: inputs at one address, weights a row apart."""
    results = problem.batch * problem.outputs
    reads = results * problem.inputs
    found = broadcasts(reads / min(WARP, problem.outputs), min(WARP, problem.outputs))
    found += scattered_loads(reads) if problem.inputs >= SECTOR_FLOATS else row_loads(reads, 1)
    found += row_loads(problem.outputs, problem.batch) + linear_stores(results)
    last = len(guard_1d(results, 1, config["BLOCK"]))
    return {"linear": found + Accesses(divergent_warps=last)}


def linear_tiled(problem: Linear, config: Config) -> dict[str, Accesses]:
    """Square tiles: the textbook's count."""
    tile = config["TILE"]
    tiles = matmul_tile(problem.batch, problem.inputs, problem.outputs, tile, tile)
    alignment = math.gcd(problem.inputs, SECTOR_FLOATS)
    rows = tiles.loads / problem.inputs
    found = row_loads(problem.inputs, rows, lanes=min(tile, WARP), alignment=alignment)
    blocks = ceil_div(problem.batch, tile) * ceil_div(problem.outputs, tile)
    found += broadcasts(blocks * warps_of(tile * tile))
    found += row_stores(problem.outputs, problem.batch, lanes=min(tile, WARP))
    steps = ceil_div(problem.inputs, tile) * tile
    reads = blocks * warps_of(tile * tile) * steps * (1 + 1 / _FLOATS)
    guard = guard_2d(problem.outputs, problem.batch, tile, tile)
    return {"linear": found + Accesses(shared_reads=reads, divergent_warps=guard)}


def linear_register_tile(problem: Linear, config: Config) -> dict[str, Accesses]:
    """Vectors of four inputs; rows beyond the last are loaded again."""
    b, o, deep = config["TILE_B"], config["TILE_O"], config["TILE_K"]
    blocks = ceil_div(problem.batch, b) * ceil_div(problem.outputs, o)
    stages = ceil_div(problem.inputs, deep) * deep
    floats = blocks * (b + o) * problem.inputs
    alignment = math.gcd(problem.inputs, SECTOR_FLOATS)
    runs = row_loads(problem.inputs, floats / problem.inputs, lanes=deep, alignment=alignment)
    wide = _FLOATS if problem.inputs % _FLOATS == 0 else 1
    found = Accesses(floats, floats / WARP / wide, runs.load_sectors)
    results, parts = problem.batch * problem.outputs, config["PARTS"]
    vectors = (config["RESULTS_B"] + config["RESULTS_O"]) / _FLOATS
    threads = b // config["RESULTS_B"] * (o // config["RESULTS_O"])
    found += Accesses(shared_reads=blocks * warps_of(threads) * stages * vectors)
    found += row_stores(problem.outputs, problem.batch * parts, lanes=WARP)
    if parts == 1:
        return {"linear": found + broadcasts(results / WARP)}
    last = row_loads(results, parts, alignment=math.gcd(results, SECTOR_FLOATS))
    return {"linear": found, "finish": last + broadcasts(results / WARP) + linear_stores(results)}


def linear_warp_rows(problem: Linear, config: Config) -> dict[str, Accesses]:
    """The weights once for every IMAGES images, the inputs once for every output."""
    groups = ceil_div(problem.batch, config["IMAGES"])
    outputs = ceil_div(problem.outputs, config["ROWS"]) * config["ROWS"]
    floats = outputs * problem.inputs * (groups + groups * config["IMAGES"])
    wide = _FLOATS if problem.inputs % _FLOATS == 0 else 1
    found = vector_loads(floats / wide, wide)
    steps = config["GROUP"].bit_length() - 1
    tree = outputs * groups * config["IMAGES"] * 2 * (steps + config["GROUP"] / WARP)
    results = problem.batch * problem.outputs
    return {
        "linear": found
        + Accesses(stores=results, store_sectors=results, shared_reads=tree)
        + broadcasts(results / config["IMAGES"])
    }


CONV2D = {"im2col": im2col, "im2col_fused": im2col_fused, "im2col_register": im2col_register}
LINEAR = {
    "naive": linear_naive,
    "tiled": linear_tiled,
    "register_tile": linear_register_tile,
    "warp_rows": linear_warp_rows,
}
