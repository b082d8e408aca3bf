"""Accesses of the rungs with tiles of the image in shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rooftile.analysis.access import bank_conflicts
from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.analysis.divergence import activity, rectangle
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d.gpu._accesses import positions_of, window
from rooftile.strategies.conv2d.gpu._tiles import Size2, Tile


def tile_passes(problem: Conv2d, tile: Tile) -> int:
    """Number of loads of a channel's tile by a block."""
    return _tiles(problem, tile) * _layers(problem, tile) * problem.channels


def loads_and_results(problem: Conv2d, tile: Tile, centre: Size2 = (0, 0)) -> Accesses:
    """Loading the tile of each channel, and storing pooled results from shared memory.

    A tile begins ``centre`` rows and columns after what its first result reads.
    """
    sizes, tiles = (problem.height, problem.width), _tiles(problem, tile)
    real = 1
    for axis in (0, 1):
        firsts = _firsts(problem, tile, axis, centre[axis])
        real *= sum(inside(first, tile.loaded[axis], sizes[axis]) for first in firsts)
    whole = tiles * math.prod(tile.loaded)
    if problem.ghosts == "replicate":
        real = whole
    layers, planes = _layers(problem, tile), problem.batch * problem.maps
    each = tile.adjacent
    found = linear_loads(
        layers * problem.channels * whole, tile.loaded[1] // each, stride=each, share=real / whole
    )
    found += broadcasts(tiles * layers * tile.maps * warps_of(tile.thread_count))
    found += _stores(problem, tile, planes * problem.output_size[0])
    pooled = planes * tiles * warps_of(math.prod(tile.results)) * positions_of(problem)
    divergent = layers * _divergent(problem, tile)
    return found + Accesses(shared_reads=pooled, divergent_warps=divergent)


def _stores(problem: Conv2d, tile: Tile, lines: int) -> Accesses:
    """The stores of ``lines`` lines of results, from a tile's own first on."""
    columns, found = problem.output_size[1], Accesses()
    if tile.adjacent == 1:
        return row_stores(columns, lines, lanes=min(WARP, tile.results[1]))
    for share, tiles in _shares(columns, tile.results[1]):
        for first in range(min(tile.adjacent, share)):
            lanes = blocks(share - first, tile.adjacent)
            made = row_loads(lanes, tiles * lines, stride=tile.adjacent, lanes=lanes)
            found += Accesses(stores=made.loads, store_sectors=made.load_sectors)
    return found


def tap_reads(problem: Conv2d, tile: Tile) -> Accesses:
    """A tap: a weight at one address, from global memory, and an input from shared memory."""
    warps = _summing_warps(tile)
    lanes = tile.positions[0] * blocks(tile.positions[1], tile.adjacent) / warps
    reads = tile_passes(problem, tile) * math.prod(problem.mask) * warps
    return broadcasts(reads, lanes) + tile_reads(problem, tile)


def tile_reads(problem: Conv2d, tile: Tile) -> Accesses:
    """A tap's inputs from shared memory."""
    reads = tile_passes(problem, tile) * math.prod(problem.mask) * _summing_warps(tile)
    return Accesses(shared_reads=reads * tile.adjacent * tap_conflicts(problem, tile))


def _summing_warps(tile: Tile) -> int:
    """Warps of a block that sum."""
    threads = rectangle(_sharers(tile, tile.positions[1]), tile.positions[0], tile.threads[1])
    return activity(threads, tile.thread_count).active_warps


def _sharers(tile: Tile, columns: int) -> int:
    """Threads that share out ``columns`` columns, as far as there are any."""
    return min(blocks(columns, tile.adjacent), tile.threads[1])


def tap_conflicts(problem: Conv2d, tile: Tile) -> int:
    """Passes of a warp's read of the tile under one tap."""
    width = tile.threads[1]
    lanes = [divmod(t, width) for t in range(min(WARP, tile.thread_count))]
    (down, across), pitch = problem.stride, tile.loaded[1]
    across *= tile.adjacent
    return bank_conflicts(i * down * pitch + j * across for i, j in lanes)


def halo_reads(problem: Conv2d, tile: Tile, centre: Size2) -> Accesses:
    """Reads beyond the tile, from global memory: real taps less those inside, each a product over
    the axes.

    A row of lanes reads a whole run where its row is beyond the tile, else an end of one.
    """
    down = _axis(problem, tile, 0, centre[0])
    across = _axis(problem, tile, 1, centre[1])
    passes = _layers(problem, tile) * problem.channels
    elements = passes * (down.real * across.real - down.inner * across.inner)
    warps_a_row = max(1, tile.positions[1] // WARP)
    runs = (down.real - down.inner) * across.lines * warps_a_row + down.inner * across.ends
    sectors = passes * runs + (elements - passes * runs) * min(1.0, problem.stride[1] / 8)
    return Accesses(elements, passes * runs * min(1, tile.positions[1] / WARP), sectors)


def _tiles(problem: Conv2d, tile: Tile) -> int:
    """Tiles of results of a plane."""
    rows, columns = problem.output_size
    return blocks(rows, tile.results[0]) * blocks(columns, tile.results[1])


def _layers(problem: Conv2d, tile: Tile) -> int:
    """Planes of tiles: sets of maps of each image."""
    return problem.batch * blocks(problem.maps, tile.maps)


def _firsts(problem: Conv2d, tile: Tile, axis: int, centre: int = 0) -> list[int]:
    """The first index of each tile's loaded inputs along an axis."""
    step = tile.results[axis] * window(problem)[1][axis] * problem.stride[axis]
    count = blocks(problem.output_size[axis], tile.results[axis])
    return [t * step - problem.padding[axis] + centre for t in range(count)]


def _divergent(problem: Conv2d, tile: Tile) -> int:
    """Warps of one layer of blocks that diverge where sums are made or results stored."""
    (height, width), threads = tile.threads, tile.thread_count
    summing = rectangle(_sharers(tile, tile.positions[1]), tile.positions[0], width)
    sums = activity(summing, threads).divergent
    total = 0
    for rows, down in _shares(problem.output_size[0], tile.results[0]):
        for columns, across in _shares(problem.output_size[1], tile.results[1]):
            guard = rectangle(_sharers(tile, columns), min(rows, height), width)
            total += down * across * len(sums | activity(guard, threads).divergent)
    return total


def _shares(size: int, tile: int) -> list[tuple[int, int]]:
    """Shares of an axis and the number of tiles with each: the whole ones, then the last."""
    whole, rest = divmod(size, tile)
    return [(tile, whole)] * bool(whole) + [(rest, 1)] * bool(rest)


@dataclass(frozen=True)
class _Axis:
    """Taps of all tiles along one axis."""

    real: int
    """Taps that meet no ghost cell."""
    inner: int
    """Real taps inside the tile."""
    lines: int
    """Tiles and places in the mask with any real tap."""
    ends: int
    """Tiles and places in the mask with a real tap beyond the tile."""


def _axis(problem: Conv2d, tile: Tile, axis: int, centre: int) -> _Axis:
    size, step = (problem.height, problem.width)[axis], problem.stride[axis]
    replicas, real, inner, lines, ends = problem.ghosts == "replicate", 0, 0, 0, 0
    for first in _firsts(problem, tile, axis, centre):
        for place in range(problem.mask[axis]):
            taps = [i * step + place - centre for i in range(tile.positions[axis])]
            met = [tap for tap in taps if replicas or 0 <= first + tap < size]
            held = sum(0 <= tap < tile.loaded[axis] for tap in met)
            real, inner = real + len(met), inner + held
            lines, ends = lines + bool(met), ends + (held < len(met))
    return _Axis(real, inner, lines, ends)
