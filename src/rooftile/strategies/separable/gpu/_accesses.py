"""Accesses of the rungs of `separable`, counted as if no mask met a ghost cell.

Lanes of a warp stand for neighbouring columns, or quads of columns, of one row.
"""

from __future__ import annotations

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    broadcasts,
    linear_loads,
    row_loads,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies.common.grid import blocks


def pass_down(problem: Separable) -> Accesses:
    """A thread a sum: an element and a weight a tap, and a store."""
    rows, wide = problem.batch * problem.output_size[0], _wide(problem)
    return _a_pass(rows, wide, problem.mask[0])


def pass_across(problem: Separable) -> Accesses:
    """A thread an output: a sum and a weight a tap, and a store."""
    rows, columns = problem.output_size
    return _a_pass(problem.batch * rows, columns, problem.mask[1])


def tile_in_shared(problem: Separable, tile: tuple[int, int]) -> Accesses:
    """A tile with its halo by linear index; reads of both passes."""
    (rows, columns), (high, wide) = problem.output_size, tile
    tiles = problem.batch * blocks(rows, high) * blocks(columns, wide)
    loaded = high + problem.mask[0] - 1, wide + problem.mask[1] - 1
    found = linear_loads(tiles * loaded[0] * loaded[1], loaded[1])
    down = warps_of(high * loaded[1]) * problem.mask[0]
    across = warps_of(high * wide) * problem.mask[1]
    found += Accesses(shared_reads=tiles * (down + across))
    return found + row_stores(columns, problem.batch * rows, lanes=min(WARP, wide))


def sums_in_registers(
    problem: Separable, teams: int, lanes: int, rows: int, quads: int, *, vectors: bool
) -> Accesses:
    """Teams of lanes that each read a quad of rows + mask - 1 rows; windows of ``quads`` quads.

    A warp's read of vectors takes four passes of shared memory.
    """
    walked = problem.batch * teams * (rows + problem.mask[0] - 1)
    found = vector_loads(walked * lanes) if vectors else row_loads(lanes, 4 * walked, stride=4)
    (high, columns), warps = problem.output_size, teams * lanes / WARP
    found += Accesses(shared_reads=problem.batch * warps * rows * quads * 4)
    return found + row_stores(columns, problem.batch * high)


def _a_pass(rows: int, width: int, taps: int) -> Accesses:
    found = row_loads(width, rows * taps)
    warps = warps_of(width)
    return found + broadcasts(rows * taps * warps, width / warps) + row_stores(width, rows)


def _wide(problem: Separable) -> int:
    """Columns of the sums between the passes."""
    return problem.output_size[1] + problem.mask[1] - 1
