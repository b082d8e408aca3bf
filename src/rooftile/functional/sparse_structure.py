"""What a format's size depends on, found by one pass over a matrix's entries."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.spmv import BLOCK, Structure
from rooftile.ops.sparse_layouts import Rows, hybrid_width
from rooftile.strategies.common.sparse_sorting import squares_with_entries


def structure_of(rows: Rows) -> Structure:
    """The structure of a matrix."""
    height, width = rows.shape
    above = rows.columns.astype(np.int64) - rows.of_entries
    used = np.zeros(height + width, bool)
    used[above + height] = True
    kept = hybrid_width(rows) if rows.entries else 1
    return Structure(
        rows=height,
        columns=width,
        entries=rows.entries,
        longest=rows.longest,
        deviation=float(np.std(rows.lengths)) if height else 0.0,
        diagonals=int(used.sum()),
        hybrid_width=kept,
        tail=int(np.maximum(rows.lengths - kept, 0).sum()),
        blocks=squares_with_entries(rows, BLOCK),
        triangular=not used[height + 1 :].any() or not used[:height].any(),
        value_bytes=rows.values.dtype.itemsize,
        index_bytes=rows.columns.dtype.itemsize,
    )
