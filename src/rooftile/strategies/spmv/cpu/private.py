"""`private`: columns shared out over the cores, each share with a result of its own.

Entries of CSC are scattered, and two cores must not add to one element at a time.  So each share
of the columns adds to its own copy of y, and a second pass adds the copies up.  What it costs: as
many times y as there are shares.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.cpu._base import CpuSpmv
from rooftile.strategies.spmv.cpu._texts import sizes_of, spread

_SHARES = 4
"""They do not follow from the threads, so that results do not depend on the machine."""
_SCATTER = """
    rows, columns, shares = sizes[0], sizes[1], sizes[4]
    for share in range(begin, end):
        at = share * rows
        for r in range(rows):
            copies[at + r] = ZERO
        for c in range(columns * share // shares, columns * (share + 1) // shares):
            for e in range(column_offsets[c], column_offsets[c + 1]):
                copies[at + row_index[e]] += values[e] * x[c]
"""
_JOIN = """
    rows, shares = sizes[0], sizes[4]
    for r in range(begin, end):
        total = copies[r]
        for share in range(1, shares):
            total = total + copies[share * rows + r]
        y[r] = FINISHED
"""


class Private(CpuSpmv):
    """Takes CSC."""

    name = "private"
    summary = "columns over the cores, each share with a result of its own"
    takes = features("dtype:* form:csc index:int64 updated")
    forms = ("csc",)

    def units(self, problem: Spmv) -> int:
        return _SHARES

    def prepare(
        self, problem: Spmv, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        scatter = spread(problem, "", _SCATTER, ("copies",))
        join = spread(problem, "", _JOIN, ("copies",))
        sizes = sizes_of(problem, _SHARES)
        copies = cpu.aligned((_SHARES * problem.rows,), np.dtype(problem.summed), "copies of y")
        turn = lock()

        def call(*arrays: AnyArray) -> None:
            with turn:
                scatter((*arrays, copies), sizes, _SHARES, threads)
                join((*arrays, copies), sizes, problem.rows, threads)

        return call


STRATEGY = Private()
