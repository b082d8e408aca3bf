"""Accesses of the conv2d rungs with tiles of the image in shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rooftile.analysis.access import bank_conflicts
from rooftile.analysis.divergence import activity, rectangle
from rooftile.analysis.launch import ceil_div
from rooftile.lab.explain.accesses import (
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    linear_stores,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.lab.explain.conv2d_direct import positions_of, window
from rooftile.ops import Conv2d
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.gpu._tiles import Tile, TiledConv2d
from rooftile.strategies.gpu import Config, GpuStrategy


def tile_output(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """All threads sum; the loads take several steps."""
    tile = _tile("tile_output", problem, config)
    return {"conv2d": _blocks(problem, tile) + _tap_reads(problem, tile)}


def tile_input(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """A thread an input; those of the halo idle in the sum."""
    tile = _tile("tile_input", problem, config)
    return {"conv2d": _blocks(problem, tile) + _tap_reads(problem, tile)}


def tile_core(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """The core from shared memory, each read of the halo from global memory."""
    tile = _tile("tile_core", problem, config)
    centre = (problem.mask[0] - 1) // 2, (problem.mask[1] - 1) // 2
    found = _blocks(problem, tile, centre) + _tap_reads(problem, tile)
    return {"conv2d": found + _halo(problem, tile, centre)}


def coarsened(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """THREAD_MAPS x THREAD_COLUMNS sums a thread; weights in shared memory too."""
    tile = _tile("coarsened", problem, config)
    taps, maps, wide = math.prod(problem.mask), config["THREAD_MAPS"], config["THREAD_COLUMNS"]
    passes = _tiles(problem, tile) * _units(problem, tile) * problem.channels
    weights = linear_loads(passes * maps * taps, taps)
    # A warp reads an input of each of its columns, and the maps' weights four at a time.
    reads = taps * (wide * _conflicts(problem, tile) + ceil_div(maps, 4))
    shared = Accesses(shared_reads=passes * warps_of(tile.thread_count) * reads)
    return {"conv2d": _blocks(problem, tile) + weights + shared}


def direct_tile(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """Bands of rows copied asynchronously; a thread's patch rows pass through registers once."""
    rung = strategy("conv2d", "direct_tile", "cuda")
    assert isinstance(rung, GpuStrategy)
    macros = rung.macros(problem, config)
    rows, pitch, pixels = (int(macros[n]) for n in ("TILE_ROWS", "PITCH", "BLOCK_PIXELS"))
    (height, across), (down, _) = window(problem)[0], problem.stride
    step = config["BAND_ROWS"] * height * down
    bands = ceil_div(problem.output_size[0], config["BAND_ROWS"])
    group_sets = int(macros["PADDED_MAPS"]) // (config["THREAD_MAPS"] * config["BLOCK_GROUPS"])
    planes = problem.batch * problem.channels * group_sets
    real = sum(inside(b * step - problem.padding[0], rows, problem.height) for b in range(bands))
    if macros["FLAT"]:
        piece = int(macros["PIECE"])
        found = vector_loads(planes * real * problem.width / piece, piece)
    else:
        whole = bands * rows * pitch
        found = linear_loads(planes * whole, pitch, share=real * problem.width / whole)
    if not config["TAPS_CONSTANT"]:
        row = ceil_div(problem.mask[1] * config["THREAD_MAPS"], 4)
        taps = row * problem.mask[0] * config["BLOCK_GROUPS"]
        held = config["BLOCK_BANDS"] if problem.channels <= config["TILE_CHANNELS"] else 1
        found += vector_loads(planes * bands * taps / held)
    results = math.prod(problem.output_shape)
    found += broadcasts(results / WARP / config["THREAD_COLUMNS"])
    found += linear_stores(results)
    # A patch row comes by loads of ALIGNED floats, each read once by the thread that owns it.
    thread_rows = config["THREAD_ROWS"] * height * down - down + problem.mask[0]
    columns = (config["THREAD_COLUMNS"] * across - 1) * problem.stride[1] + problem.mask[1]
    reads = thread_rows * columns
    if not config["TAPS_CONSTANT"]:
        reads += problem.mask[0] * ceil_div(problem.mask[1] * config["THREAD_MAPS"], 4)
    threads = planes * bands * warps_of(pixels * config["BLOCK_GROUPS"])
    return {"conv2d": found + Accesses(shared_reads=threads * reads)}


def _tile(name: str, problem: Conv2d, config: Config) -> Tile:
    rung = strategy("conv2d", name, "cuda")
    assert isinstance(rung, TiledConv2d)
    return rung.tile(problem, config)


def _tiles(problem: Conv2d, tile: Tile) -> int:
    rows, columns = problem.output_size
    return ceil_div(rows, tile.results[0]) * ceil_div(columns, tile.results[1])


def _units(problem: Conv2d, tile: Tile) -> int:
    return problem.batch * ceil_div(problem.maps, tile.maps)


def _firsts(problem: Conv2d, tile: Tile, axis: int, centre: int = 0) -> list[int]:
    """Where each tile's loaded inputs begin along an axis."""
    step = tile.results[axis] * window(problem)[1][axis] * problem.stride[axis]
    count = ceil_div(problem.output_size[axis], tile.results[axis])
    return [t * step - problem.padding[axis] + centre for t in range(count)]


def _blocks(problem: Conv2d, tile: Tile, centre: tuple[int, int] = (0, 0)) -> Accesses:
    """Loading the tile of each channel, and storing pooled results from shared memory."""
    sizes, units = (problem.height, problem.width), _units(problem, tile)
    real = 1
    for axis in (0, 1):
        firsts = _firsts(problem, tile, axis, centre[axis])
        real *= sum(inside(first, tile.loaded[axis], sizes[axis]) for first in firsts)
    whole = _tiles(problem, tile) * math.prod(tile.loaded)
    passes = units * problem.channels
    found = linear_loads(passes * whole, tile.loaded[1], share=real / whole)
    rows, columns = problem.output_size
    planes, blocks = problem.batch * problem.maps, _tiles(problem, tile) * units
    warps = warps_of(tile.thread_count)
    found += broadcasts(blocks * tile.maps * warps)
    found += row_stores(columns, planes * rows, lanes=min(WARP, tile.results[1]))
    pooled = planes * _tiles(problem, tile) * warps_of(math.prod(tile.results))
    found += Accesses(shared_reads=pooled * positions_of(problem))
    return found + Accesses(divergent_warps=units * _divergent(problem, tile))


def _divergent(problem: Conv2d, tile: Tile) -> int:
    """Warps of one layer of blocks that diverge where sums are made or results stored."""
    (height, width), threads = tile.threads, tile.thread_count
    sums = activity(rectangle(tile.positions[1], tile.positions[0], width), threads).divergent
    total = 0
    for rows, down in _left(problem.output_size[0], tile.results[0]):
        for columns, across in _left(problem.output_size[1], tile.results[1]):
            guard = rectangle(min(columns, width), min(rows, height), width)
            total += down * across * len(sums | activity(guard, threads).divergent)
    return total


def _left(size: int, tile: int) -> list[tuple[int, int]]:
    whole, rest = divmod(size, tile)
    return [(tile, whole)] * bool(whole) + [(rest, 1)] * bool(rest)


def _tap_reads(problem: Conv2d, tile: Tile) -> Accesses:
    """A tap: a weight at one address, from global memory, and an input from shared memory."""
    threads = rectangle(tile.positions[1], tile.positions[0], tile.threads[1])
    warps = activity(threads, tile.thread_count).active_warps
    blocks = _tiles(problem, tile) * _units(problem, tile)
    reads = blocks * problem.channels * math.prod(problem.mask) * warps
    lanes = math.prod(tile.positions) / warps
    return broadcasts(reads, lanes) + Accesses(shared_reads=reads * _conflicts(problem, tile))


def _conflicts(problem: Conv2d, tile: Tile) -> int:
    """Passes of a warp's read of the tile under one tap."""
    width = tile.threads[1]
    lanes = [divmod(t, width) for t in range(min(WARP, tile.thread_count))]
    (down, across), pitch = problem.stride, tile.loaded[1]
    return bank_conflicts(i * down * pitch + j * across for i, j in lanes)


def _halo(problem: Conv2d, tile: Tile, centre: tuple[int, int]) -> Accesses:
    """Reads beyond the core: real taps less those inside, each a product over the axes.

    A row of lanes reads a whole run where its row is beyond the core, else an end of one.
    """
    down = _axis(problem, tile, 0, centre[0])
    across = _axis(problem, tile, 1, centre[1])
    passes = _units(problem, tile) * problem.channels
    elements = passes * (down.real * across.real - down.core * across.core)
    warps_a_row = max(1, tile.positions[1] // WARP)
    runs = (down.real - down.core) * across.lines * warps_a_row + down.core * across.ends
    sectors = passes * runs + (elements - passes * runs) * min(1.0, problem.stride[1] / 8)
    return Accesses(elements, passes * runs * min(1, tile.positions[1] / WARP), sectors)


@dataclass(frozen=True)
class _Axis:
    """Taps of all tiles along one axis."""

    real: int
    """Not of ghost cells."""
    core: int
    """Real and inside the tile's core."""
    lines: int
    """Tiles and places in the mask with any real tap."""
    ends: int
    """Those with a real tap beyond the core."""


def _axis(problem: Conv2d, tile: Tile, axis: int, centre: int) -> _Axis:
    size, step = (problem.height, problem.width)[axis], problem.stride[axis]
    real = core = lines = ends = 0
    for first in _firsts(problem, tile, axis, centre):
        for place in range(problem.mask[axis]):
            taps = [i * step + place - centre for i in range(tile.positions[axis])]
            met = [tap for tap in taps if 0 <= first + tap < size]
            inner = sum(0 <= tap < tile.loaded[axis] for tap in met)
            real, core = real + len(met), core + inner
            lines, ends = lines + bool(met), ends + (inner < len(met))
    return _Axis(real, core, lines, ends)


ACCESSES = {
    "tile_output": tile_output,
    "tile_input": tile_input,
    "tile_core": tile_core,
    "coarsened": coarsened,
    "direct_tile": direct_tile,
}
