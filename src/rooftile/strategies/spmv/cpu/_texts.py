"""The texts of CPU kernels of `spmv`, one a format: what becomes of the rows begin to end - 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops.sparse.spmv import Spmv

ROWS: dict[str, str] = {
    "csr": """
    for r in range(begin, end):
        total = ZERO
        for e in range(row_offsets[r], row_offsets[r + 1]):
            total = total + values[e] * x[column_index[e]]
        y[r] = FINISHED
""",
    "jds": """
    for rank in range(begin, end):
        total = ZERO
        for e in range(row_offsets[rank], row_offsets[rank + 1]):
            total = total + values[e] * x[column_index[e]]
        r = permutation[rank]
        y[r] = FINISHED
""",
    "jds_t": """
    sections = sizes[2]
    for rank in range(begin, end):
        total = ZERO
        s = 0
        while s < sections and section_offsets[s] + rank < section_offsets[s + 1]:
            e = section_offsets[s] + rank
            total = total + values[e] * x[column_index[e]]
            s += 1
        r = permutation[rank]
        y[r] = FINISHED
""",
    "ell": """
    rows, width = sizes[0], sizes[2]
    for r in range(begin, end):
        total = ZERO
        for k in range(width):
            # Padding has the value 0: what x has there must not matter.
            value = values[k * rows + r]
            if value != ZERO:
                total = total + value * x[column_index[k * rows + r]]
        y[r] = FINISHED
""",
    "dia": """
    rows, columns, width = sizes[0], sizes[1], sizes[2]
    for r in range(begin, end):
        total = ZERO
        for d in range(width):
            c = r + diagonals[d]
            value = values[d * rows + r]
            if value != ZERO and 0 <= c and c < columns:
                total = total + value * x[c]
        y[r] = FINISHED
""",
    "bsr": """
    columns, block = sizes[1], sizes[3]
    for r in range(begin, end):
        total = ZERO
        for b in range(block_offsets[r // block], block_offsets[r // block + 1]):
            first = block_columns[b] * block
            line = (b * block + r % block) * block
            for j in range(min(block, columns - first)):
                value = values[line + j]
                if value != ZERO:
                    total = total + value * x[first + j]
        y[r] = FINISHED
""",
    "coo": """
    e = first_of(row_index, begin)
    for r in range(begin, end):
        total = ZERO
        while e < row_index.size and row_index[e] == r:
            total = total + values[e] * x[column_index[e]]
            e += 1
        y[r] = FINISHED
""",
    "hybrid": """
    rows, width = sizes[0], sizes[2]
    e = first_of(tail_rows, begin)
    for r in range(begin, end):
        total = ZERO
        for k in range(width):
            value = values[k * rows + r]
            if value != ZERO:
                total = total + value * x[column_index[k * rows + r]]
        while e < tail_rows.size and tail_rows[e] == r:
            if tail_values[e] != ZERO:
                total = total + tail_values[e] * x[tail_columns[e]]
            e += 1
        y[r] = FINISHED
""",
}
"""Bodies of kernels whose units are rows; entries of COO lie in the order of their rows."""

FIRST = """
def first_of(rows, row):
    # The first entry whose row is not before this one.
    low = 0
    high = rows.size
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low
"""
"""A function that searches the rows of COO."""
_UPDATED = {False: "total", True: "alpha[0] * total + beta[0] * start[r]"}
"""The text of FINISHED: the result of row r."""


def rows_kernel(problem: Spmv, flags: str = "") -> cpu.Spread:
    """The kernel of a format whose units are rows."""
    return spread(problem, FIRST, ROWS[problem.form], flags=flags)


def spread(
    problem: Spmv, functions: str, body: str, more: Sequence[str] = (), flags: str = ""
) -> cpu.Spread:
    """The kernel with this body, over the problem's arrays and more of the sums' dtype."""
    names = (*(array.name for array in problem.arrays), *more)
    dtypes = (*(values_of(array.dtype) for array in problem.arrays), *[problem.summed] * len(more))
    text = f"{functions}\ndef kernel({', '.join(names)}, sizes, begin, end):{body}"
    text = text.replace("FINISHED", _UPDATED[problem.updated])
    text = text.replace("ZERO", f"np.{problem.summed}(0.0)")
    return _spread(f"spmv_{problem.form}", text, dtypes, flags)


@last_kernels
def _spread(stem: str, text: str, dtypes: tuple[str, ...], flags: str) -> cpu.Spread:
    return cpu.Spread(source(stem, text, flags=flags), dtypes)


def sizes_of(problem: Spmv, *more: int) -> NDArray[np.int64]:
    """The texts' ``sizes``: rows, columns, width, block, and more."""
    return cpu.sizes_of(problem.rows, problem.columns, problem.width, problem.block, *more)
