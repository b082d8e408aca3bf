"""Accesses of the rungs of `matvec`."""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    Accesses,
    broadcasts,
    linear_stores,
    row_loads,
    row_stores,
    warps_of,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.ops.patterns.matvec import Matvec


def along_rows(problem: Matvec, block: int) -> Accesses:
    """A thread a row of the matrix, which it walks along; and the results."""
    rows, columns = problem.rows, problem.columns
    if problem.transpose:
        found = row_loads(rows, columns, alignment=math.gcd(rows, SECTOR_FLOATS))
    else:
        found = row_loads(rows, columns, stride=columns)
    diverge = len(guard_1d(rows, 1, block))
    return found + row_stores(rows, 1) + Accesses(divergent_warps=diverge)


def of_x_by_all(problem: Matvec) -> Accesses:
    """Every thread of a row reads all of x, a warp the same element at a time."""
    warps = warps_of(problem.rows)
    return broadcasts(problem.columns * warps, problem.rows / warps)


def along_columns(problem: Matvec, lanes: int) -> Accesses:
    """``lanes`` neighbours of a row at a time."""
    rows, columns = problem.rows, problem.columns
    if problem.transpose:
        return row_loads(columns, rows, stride=rows, lanes=lanes)
    return row_loads(columns, rows, lanes=lanes, alignment=math.gcd(columns, SECTOR_FLOATS))


def cleared(problem: Matvec) -> Accesses:
    """The zeros before atomics."""
    return linear_stores(problem.rows)
