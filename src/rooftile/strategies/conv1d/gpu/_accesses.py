"""Accesses of the rungs of `conv1d`.

Lanes of a warp stand for neighbouring outputs, which under one tap read neighbouring elements.
Ghost cells that are zeros are not read; ghost cells that replicate an end are.
"""

from __future__ import annotations

from rooftile.analysis.accesses import (
    Accesses,
    broadcasts,
    inside,
    row_loads,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.common.grid import blocks


def thread_an_output(problem: Conv1d, block: int, *, weights: bool) -> Accesses:
    """A thread an output: an element a tap, and with ``weights`` a weight from global memory, which
    is one address for a whole warp."""
    outputs, taps = problem.outputs, problem.rows * problem.channels
    found = Accesses()
    for q in range(problem.mask):
        real = inside(q - problem.before, outputs, problem.length)
        share = 1.0 if problem.boundary == "replicate" else real / outputs
        found += row_loads(outputs, taps * share)
    if weights:
        warps = warps_of(outputs)
        found += broadcasts(taps * problem.mask * warps, outputs / warps)
    return found + _results(problem, block)


def output_tile(problem: Conv1d, block: int, *, parts: int) -> Accesses:
    """A tile as wide as the block, with its halo: three parts, or two."""
    tiles, before, halo = blocks(problem.outputs, block), problem.before, problem.mask - 1
    passes = tiles * problem.rows * problem.channels
    widths = (before, block, halo - before) if parts == 3 else (block, halo)
    found = _tile(problem, block, -before, widths)
    reads = passes * problem.mask * warps_of(block)
    return found + Accesses(shared_reads=reads) + _results(problem, block)


def input_tile(problem: Conv1d, block: int) -> Accesses:
    """A block as wide as the tile with its halo, whose last threads make no sums."""
    made = block - problem.mask + 1
    passes = blocks(problem.outputs, made) * problem.rows * problem.channels
    found = _tile(problem, made, -problem.before, (block,))
    reads = passes * problem.mask * warps_of(made)
    return found + Accesses(shared_reads=reads) + _results(problem, made)


def core_tile(problem: Conv1d, block: int) -> Accesses:
    """A tile without its halo, which comes from global memory tap by tap."""
    tiles, taps = blocks(problem.outputs, block), problem.rows * problem.channels
    found = _tile(problem, block, 0, (block,))
    for q in range(problem.mask):
        offset = q - problem.before
        far = min(abs(offset), block)
        if far:
            first = offset if offset < 0 else block + offset - far
            real = _met(problem, first, far, block, tiles)
            found += row_loads(far, taps * real / far)
    reads = tiles * taps * problem.mask * warps_of(block)
    return found + Accesses(shared_reads=reads) + _results(problem, block)


def window_quads(problem: Conv1d, window: int, *, vectors: bool) -> Accesses:
    """A window of ``window`` elements for each quad of outputs, counted as if none met an end."""
    quads, rows = blocks(problem.outputs, 4), problem.rows * problem.channels
    if vectors:
        found = vector_loads(quads * rows * window / 4)
    else:
        found = row_loads(quads, rows * window, stride=4)
    return found + row_stores(problem.outputs, problem.rows)


def _tile(problem: Conv1d, step: int, first: int, widths: tuple[int, ...]) -> Accesses:
    """The loads of all tiles, each in runs of these widths: tile t begins at t * step + first."""
    tiles, whole = blocks(problem.outputs, step), sum(widths)
    rows = problem.rows * problem.channels
    share = _met(problem, first, whole, step, tiles) / (tiles * whole)
    found = Accesses()
    for width in widths:
        runs = row_loads(width, tiles * rows)
        found += Accesses(runs.loads * share, runs.load_requests, runs.load_sectors * share)
    return found


def _met(problem: Conv1d, first: int, width: int, step: int, tiles: int) -> int:
    """Elements that all tiles of a row read: tile t wants ``width`` from t * step + first on."""
    if problem.boundary == "replicate":
        return tiles * width
    low = min(tiles, max(0, blocks(-first, step)))
    high = max(low, min(tiles, (problem.length - width - first) // step + 1))
    edges = (*range(low), *range(high, tiles))
    return (high - low) * width + sum(
        inside(tile * step + first, width, problem.length) for tile in edges
    )


def _results(problem: Conv1d, block: int) -> Accesses:
    """A store an output; the warp that the last output falls into diverges."""
    last = len(guard_1d(problem.outputs, 1, block))
    stores = row_stores(problem.outputs, problem.rows)
    return stores + Accesses(divergent_warps=last * problem.rows)
