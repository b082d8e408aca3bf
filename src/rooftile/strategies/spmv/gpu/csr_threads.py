"""`csr_threads`: a thread a row.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.analysis.accesses import Accesses
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.spmv.gpu._accesses import only, row_apart
from rooftile.strategies.spmv.gpu._base import RowSpmv

_SHORT = 8
"""Entries of a row that one cache line holds."""


class CsrThreads(RowSpmv):
    """Results are the same in every run."""

    name = "csr_threads"
    summary = "a thread a row"
    form = "csr"

    def why_slow(self, problem: Spmv) -> str | None:
        """Rows that are longer than a cache line, or of different lengths."""
        if problem.even and problem.entries <= _SHORT * problem.rows:
            return None
        return "rows are long, or of different lengths: neighbours read entries that lie apart"

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        return only(self.kernel(), problem, row_apart(problem))


STRATEGY = CsrThreads()
