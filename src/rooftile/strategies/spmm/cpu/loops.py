"""Rows of the result, one after the other and over the cores."""

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


class Threads(CpuSpmm):
    """Takes every problem.

    The loop over b's columns is the inner one: it reads b's rows in order, and the compiler
    vectorises it. What it removes: strides, and idle cores.
    """

    name = "threads"
    summary = "rows over the cores, each a sum of rows of b"
    flags = "contract"
    text = """
def kernel(values, column_index, row_offsets, b, c, sizes, begin, end):
    width = sizes[0]
    for r in range(begin, end):
        for j in range(width):
            c[r * width + j] = ZERO
        for e in range(row_offsets[r], row_offsets[r + 1]):
            value = values[e]
            line = column_index[e] * width
            for j in range(width):
                c[r * width + j] = c[r * width + j] + value * b[line + j]
"""


STRATEGIES = (Loops(), Threads())
