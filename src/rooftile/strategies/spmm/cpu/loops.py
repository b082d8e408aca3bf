"""`loops`: one element of the result after the other, on one thread."""

from __future__ import annotations

from rooftile.strategies.spmm.cpu._base import CpuSpmm


class Loops(CpuSpmm):
    """Takes every problem."""

    name = "loops"
    parallel = False
    summary = "one element of the result after the other, on one thread"
    text = """
def kernel(values, column_index, row_offsets, b, c, sizes, begin, end):
    width = sizes[0]
    for r in range(begin, end):
        for j in range(width):
            total = ZERO
            for e in range(row_offsets[r], row_offsets[r + 1]):
                total = total + values[e] * b[column_index[e] * width + j]
            c[r * width + j] = total
"""


STRATEGY = Loops()
