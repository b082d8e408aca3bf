"""`balanced`: the cores share out entries and ends of rows, and not rows.

Entries and ends are one sequence of items, in which an end follows the entries before it. A unit
takes as many items as another: it adds products, and at each end it has a result. Only its first
result lacks the part of earlier units in that row; a last pass adds it. What it removes: cores that
wait for the one with the long row.

Source: Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.shares import ENDS_AMONG
from rooftile.strategies.spmv.cpu._base import CpuSpmv
from rooftile.strategies.spmv.cpu._texts import sizes_of, spread

_ITEMS = 2**15
"""Items of a unit.  They follow from the problem and not from the threads, so that results do not
depend on the machine."""
_PIECE = """
def piece(values, column_index, x, first, last):
    total = ZERO
    for e in range(first, last):
        total = total + values[e] * x[column_index[e]]
    return total
"""
_SHARES = """
    rows, entries, share = sizes[0], sizes[4], sizes[5]
    for unit in range(begin, end):
        first = ends_among(row_offsets, rows, entries, unit * share)
        stop = min(unit * share + share, entries + rows)
        last = ends_among(row_offsets, rows, entries, stop)
        e = unit * share - first
        for r in range(first, last):
            total = piece(values, column_index, x, e, row_offsets[r + 1])
            e = row_offsets[r + 1]
            if r == first:
                heads[unit] = total
            else:
                y[r] = FINISHED
        tails[unit] = piece(values, column_index, x, e, stop - last)
"""
_JOIN = """
    rows, entries, share, units = sizes[0], sizes[4], sizes[5], sizes[6]
    carry = ZERO
    r = 0
    for unit in range(units):
        stop = min(unit * share + share, entries + rows)
        last = ends_among(row_offsets, rows, entries, stop)
        if last > r:
            total = carry + heads[unit]
            y[r] = FINISHED
            carry = ZERO
        carry = carry + tails[unit]
        r = last
"""


class Balanced(CpuSpmv):
    """Takes CSR; results are the same in every run and on any number of threads."""

    name = "balanced"
    summary = "entries and ends of rows shared out over the cores"
    takes = features("dtype:* index:int64 updated")
    forms = ("csr",)
    piece: ClassVar[str] = _PIECE
    """The text of the sum of some entries of one row."""
    flags: ClassVar[str] = "reassoc contract"

    def units(self, problem: Spmv) -> int:
        return -(-(problem.entries + problem.rows) // _ITEMS)

    def prepare(
        self, problem: Spmv, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        ends, units = ("heads", "tails"), self.units(problem)
        run = spread(problem, ENDS_AMONG + self.piece, _SHARES, ends, self.flags)
        join = spread(problem, ENDS_AMONG, _JOIN, ends, self.flags)
        sizes = sizes_of(problem, problem.entries, _ITEMS, units)
        heads, tails = cpu.aligned((2, units), np.dtype(problem.summed), "results of shares")
        turn = lock()

        def call(*arrays: AnyArray) -> None:
            with turn:
                run((*arrays, heads, tails), sizes, units, threads)
                join((*arrays, heads, tails), sizes, 1, 1)

        return call


STRATEGY = Balanced()
