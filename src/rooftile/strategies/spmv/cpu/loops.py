"""Rows, one after the other and over the cores.

Source: PMPP, chapter 14.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.rows import FORMS
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.cpu._base import RowSpmv
from rooftile.strategies.spmv.cpu._texts import sizes_of, spread

_COLUMNS = """
    rows, columns = sizes[0], sizes[1]
    for r in range(rows):
        y[r] = ZERO
    for c in range(columns):
        for e in range(column_offsets[c], column_offsets[c + 1]):
            y[row_index[e]] += values[e] * x[c]
    for r in range(rows):
        total = y[r]
        y[r] = FINISHED
"""


class Loops(RowSpmv):
    """Takes every problem.

    Columns are scattered: each of CSC's entries is added to the row that it names.
    """

    name = "loops"
    summary = "one entry after the other, on one thread"
    forms = FORMS
    parallel = False

    def prepare(
        self, problem: Spmv, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        if problem.form != "csc":
            return super().prepare(problem, parameters, threads)
        run, sizes = spread(problem, "", _COLUMNS), sizes_of(problem)

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, 1, 1)

        return call


class Threads(RowSpmv):
    """Takes every format that says which entries a row has.

    What it removes: idle cores, and additions that wait for each other. A long row still keeps one
    core at work.
    """

    name = "threads"
    summary = "rows shared out over the cores"
    takes = features("dtype:* form:bsr,coo,dia,ell,hybrid,jds,jds_t index:int64 updated")
    forms = ("csr", "coo", "ell", "hybrid", "jds", "jds_t", "dia", "bsr")
    flags = "reassoc contract"


STRATEGIES = (Loops(), Threads())
