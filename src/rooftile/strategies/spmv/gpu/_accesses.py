"""Accesses of the rungs with a thread a row, for rows of one length.

The sectors of x that a warp reads depend on the positions of entries: in a band or a grid
neighbours read neighbours, in blocks four rows read one element, and entries anywhere have a sector
each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    linear_loads,
    linear_stores,
    row_loads,
    scattered_loads,
    warps_of,
)
from rooftile.ops.sparse.spmv import Spmv

_EVEN = ("even", "banded", "grid", "blocks")
"""Patterns of rows of (nearly) one length."""
_SHARING = 4
"""Rows that read one element of x in a matrix of blocks."""


def only(kernel: str, problem: Spmv, found: Accesses) -> Mapping[str, Accesses]:
    """Of a rung of one kernel; nothing of a matrix that the model is not of."""
    plain = (problem.dtype, problem.index, problem.updated) == ("float32", "int32", False)
    padded = problem.form in ("ell", "dia")
    return {kernel: found} if plain and (padded or problem.pattern in _EVEN) else {}


def side_by_side(problem: Spmv, places: int) -> Accesses:
    """Adjacent values and columns of neighbouring rows' places, x, and y."""
    matrix = _columns(problem, places)
    return matrix + matrix + _of_x(problem, places) + linear_stores(problem.rows)


def row_apart(problem: Spmv) -> Accesses:
    """Values and columns that lie a row apart, where rows begin and end, x, and y."""
    entries, rows = problem.entries, problem.rows
    matrix = linear_loads(entries, rows, stride=max(1, round(entries / rows)))
    offsets = linear_loads(rows, rows)
    found = matrix + matrix + offsets + offsets + _of_x(problem, entries)
    return found + linear_stores(rows)


def along_diagonals(problem: Spmv, steps: int, threads: int) -> Accesses:
    """Values of diagonals and the elements of x that they meet, the diagonals' numbers, of which
    each thread reads ``steps``, and y."""
    places = problem.rows * problem.width
    numbers = broadcasts(warps_of(threads) * steps)
    # A diagonal begins anywhere in x.
    found = _columns(problem, places) + linear_loads(places, problem.rows)
    return found + numbers + linear_stores(problem.rows)


def per_row(problem: Spmv) -> Accesses:
    """A load of each thread, adjacent to its neighbour's: the start of its row."""
    return linear_loads(problem.rows, problem.rows)


def per_warp(problem: Spmv, requests: int) -> Accesses:
    """Loads of which all threads of a warp make the same."""
    return broadcasts(warps_of(problem.rows) * requests)


def _columns(problem: Spmv, places: int) -> Accesses:
    """Columns of the format, each as long as there are rows."""
    alignment = math.gcd(problem.rows, SECTOR_FLOATS)
    return row_loads(problem.rows, places / problem.rows, alignment=alignment)


def _of_x(problem: Spmv, loads: int) -> Accesses:
    if problem.pattern in ("banded", "grid"):
        return linear_loads(loads, problem.rows)
    if problem.pattern == "blocks":
        return Accesses(loads, loads / WARP, loads / _SHARING)
    return scattered_loads(loads)
