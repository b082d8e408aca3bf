"""The estimated speed of `winograd` over the best rung at `ieee`.

All costs are in fused multiply-adds of vectors, as in `register_tile` and `map_vectors`, and were
fitted to 390 drawn shapes on one core of a Zen 3 (benchmarks/fast_shapes.py): 3x3, 5x5 and 7x7
masks, 1 to 512 channels and maps, images of 4x4 to 64x64.
"""

from __future__ import annotations

import math

from rooftile.devices import cpu
from rooftile.devices.cpu.native import vector
from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.cpu import map_vectors, register_tile
from rooftile.strategies.conv2d.cpu._toom_cook import OUTPUTS
from rooftile.strategies.conv2d.cpu._winograd_rows import RowTile
from rooftile.strategies.conv2d.cpu._winograd_tiles import SquareTile

_MULTIPLY, _INPUT, _OUTPUT = 1.2, 11.0, 19.0
"""A multiplication of the transformed product; for each transformed position, the transform of a
vector of inputs and that of a vector of outputs."""
_SUMS = 9
"""Fewer independent sums wait for each other, as in `map_vectors`."""
_CACHED, _LARGE = 2**18, 2**22
"""Bytes of weights beyond which they come from the last-level cache, and from behind it."""
_FROM_CACHE, _FROM_BEHIND = 3.0, 11.0
"""Cost of a vector of weights from there."""
_BY_ROWS = 2.0
"""Speed-up of transforms by rows where no tile has unused rows, columns or maps."""
_ROWS_INPUT = 1.6
"""Cost of the transform of the inputs by rows, in maps that are multiplied."""
_PACK = {3: 8_000, 5: 9_000, 7: 22_000}
"""Cost for one thread of transforming the weights of one map and one channel."""
_MOST_UNITS = 64
"""Largest number of units of work that the rungs at `ieee` have of one image."""


def gain(problem: Conv2d, tile: RowTile | SquareTile, *, once: bool) -> float:
    """The estimated ratio of both times on this machine's cores; ``once``: weights are transformed
    for one call."""
    plain = problem.batch * _plain(problem)
    if isinstance(tile, RowTile):
        rows, columns = problem.conv_span
        filled = tile.bands * OUTPUTS / rows * tile.vectors * tile.lanes / columns
        maps = -(-problem.maps // tile.maps) * tile.maps + _ROWS_INPUT
        transformed = plain * filled * maps / problem.maps / _BY_ROWS
    else:
        transformed = problem.batch * _squares(problem, tile)
    cores, units = cpu.cores(), problem.batch * tile.bands
    transformed /= units / math.ceil(units / cores)
    plain /= min(cores, problem.batch * _MOST_UNITS)
    if once:
        transformed += _PACK[problem.mask[0]] * problem.channels * problem.maps
    return plain / transformed


def _squares(problem: Conv2d, tile: SquareTile) -> float:
    """Cost of an image by tiles that are transformed both ways."""
    blocks, positions = -(-problem.maps // tile.maps), tile.size**2
    step = max(tile.group * tile.across, tile.group + tile.across, _SUMS)
    multiplied = _MULTIPLY * blocks * tile.groups * positions * problem.channels * step
    read = _INPUT * tile.groups * problem.channels * positions
    written = _OUTPUT * tile.tiles * blocks * tile.across * positions
    # Each row of tiles reads all weights.
    weights = _weights(tile.transformed_weights, 2 * _LARGE)
    return tile.bands * (multiplied + read + written + weights)


def _plain(problem: Conv2d) -> float:
    """Cost of an image by the best rung at `ieee`."""
    rungs = ((register_tile.STRATEGY, register_tile), (map_vectors.STRATEGY, map_vectors))
    taken = [module.estimate(problem) for rung, module in rungs if rung.why_not(problem) is None]
    count = problem.maps * problem.channels * math.prod(problem.mask)
    return min(taken, default=math.inf) + _weights(count, _LARGE)


def _weights(count: int, large: int) -> float:
    """Cost of loading ``count`` weights during the computation, by the cache that holds them."""
    nbytes, vectors = 4 * count, count / vector.lanes()
    behind = _FROM_BEHIND if nbytes > large else 0.0
    return vectors * (behind + (_FROM_CACHE if nbytes > _CACHED else 0.0))
