"""Accesses of the rungs of pool2d and softmax."""

from __future__ import annotations

import math

from rooftile.analysis.divergence import guard_1d
from rooftile.analysis.launch import ceil_div
from rooftile.lab.explain.accesses import (
    SECTOR_FLOATS,
    Accesses,
    linear_loads,
    linear_stores,
    row_loads,
    row_stores,
    scattered_loads,
    vector_loads,
)
from rooftile.ops import Pool2d, Softmax
from rooftile.strategies.gpu import Config


def pool_naive(problem: Pool2d, config: Config) -> dict[str, Accesses]:
    """A lane a result reads its window."""
    results, pool = math.prod(problem.output_shape), problem.pool
    reads = results * math.prod(pool.window)
    found = linear_loads(reads, problem.output_shape[3], stride=pool.stride[1])
    last = len(guard_1d(results, 1, config["BLOCK"]))
    return {"pool2d": found + linear_stores(results) + Accesses(divergent_warps=last)}


def pool_vector_rows(problem: Pool2d, config: Config) -> dict[str, Accesses]:
    """A lane four results of a row reads what they cover, in vectors."""
    _, channels, rows, columns = problem.output_shape
    pool, lines = problem.pool, problem.batch * channels * rows
    groups = lines * ceil_div(columns, 4)
    vectors = ceil_div(3 * pool.stride[1] + pool.window[1], 4)
    found = vector_loads(groups * vectors * pool.window[0])
    last = len(guard_1d(groups, 1, config["BLOCK"]))
    return {"pool2d": found + row_stores(columns, lines) + Accesses(divergent_warps=last)}


def softmax_naive(problem: Softmax, config: Config) -> dict[str, Accesses]:
    """A lane a row: the inputs twice, the exponentials written, read and written again."""
    elements, classes = problem.batch * problem.classes, problem.classes
    if classes >= SECTOR_FLOATS:
        found = scattered_loads(3 * elements)
        stored = Accesses(stores=2 * elements, store_sectors=2 * elements)
    else:
        found = row_loads(problem.batch, 3 * classes, stride=classes)
        stored = row_stores(problem.batch, 2 * classes, stride=classes)
    last = len(guard_1d(problem.batch, 1, config["BLOCK"]))
    return {"softmax": found + stored + Accesses(divergent_warps=last)}


def softmax_block_rows(problem: Softmax, config: Config) -> dict[str, Accesses]:
    """GROUP lanes a row: the inputs three times, results once."""
    lanes, alignment = min(32, config["GROUP"]), math.gcd(problem.classes, SECTOR_FLOATS)
    found = row_loads(problem.classes, 3 * problem.batch, lanes=lanes, alignment=alignment)
    found += row_stores(problem.classes, problem.batch, lanes=lanes)
    steps = config["GROUP"].bit_length() - 1
    trees = problem.batch * config["GROUP"] / 32 * 2 * 2 * steps
    return {"softmax": found + Accesses(shared_reads=trees)}


POOL2D = {"naive": pool_naive, "vector_rows": pool_vector_rows}
SOFTMAX = {"naive": softmax_naive, "block_rows": softmax_block_rows}
