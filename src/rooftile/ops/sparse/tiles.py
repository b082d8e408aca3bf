"""CSR's entries and the ends of its rows as one sequence, in which each end follows its row's
entries, cut into tiles of equal length: the same work whatever the rows' lengths are.

Source: Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops.problem import AnyArray

TILE = 416
"""Entries and ends in a tile: thirteen for each thread of a GPU's warp."""


def tiles_of(rows: int, entries: int) -> int:
    """Number of tiles."""
    return -(-(rows + entries) // TILE)


def tile_rows(offsets: AnyArray) -> AnyArray:
    """Number of rows that end before each tile, and in all; ``offsets`` are the rows' first
    entries."""
    rows, entries = len(offsets) - 1, int(offsets[-1])
    ends = offsets[1:] + np.arange(rows)
    before = np.minimum(np.arange(tiles_of(rows, entries) + 1) * TILE, rows + entries)
    return np.searchsorted(ends, before).astype(offsets.dtype)
