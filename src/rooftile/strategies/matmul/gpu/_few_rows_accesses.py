"""What `few_rows` does to memory: b once, a from the caches."""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    Accesses,
    row_loads,
    row_stores,
    vector_loads,
    warps_of,
)
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config


def of_teams(problem: Matmul, config: Config, rows: int, vector: int) -> Accesses:
    """A team of LANES threads a line of b, and a tree that joins its ``rows`` sums."""
    lanes, elements = config["LANES"], problem.columns * problem.inner
    found = vector_loads(elements / vector, vector)
    if problem.transpose_a and problem.rows > 1:
        found += row_loads(problem.inner, problem.columns * rows, stride=problem.rows)
    else:
        found += vector_loads(elements * rows / vector, vector)
    reaches = [lanes >> step for step in range(1, lanes.bit_length())]
    joined = problem.columns * rows * (2 * sum(map(warps_of, reaches)) + 1)
    results = problem.rows * problem.columns
    # Each result is stored by a thread of another warp.
    return found + Accesses(stores=results, store_sectors=results, shared_reads=joined)


def of_strips(problem: Matmul, config: Config, rows: int, vector: int) -> Accesses:
    """Strips of columns and parts of the terms, whose share of a lies in shared memory."""
    lanes, slices, parts = config["LANES"], config["SLICES"], config["PARTS"]
    strip = lanes * vector
    across = blocks(problem.columns, strip)
    found = vector_loads(problem.columns * problem.inner / vector, vector)
    stride = problem.rows if problem.transpose_a else 1
    aligned = 1 if problem.transpose_a else math.gcd(problem.inner, SECTOR_FLOATS)
    found += row_loads(problem.inner, problem.rows * across, stride=stride, alignment=aligned)
    # Slices of a warp read neighbouring terms at once.
    terms = across * problem.inner * rows * warps_of(lanes * slices) / slices
    joined = across * parts * rows * slices * warps_of(strip)
    found += Accesses(shared_reads=terms + joined)
    return found + row_stores(problem.columns, problem.rows * parts)


def of_finish(results: int, parts: int) -> Accesses:
    """A thread a result adds the parts' sums."""
    return row_loads(results, parts, alignment=8) + row_stores(results, 1)
