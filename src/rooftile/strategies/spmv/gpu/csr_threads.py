"""Rung 1, `csr_threads`: a thread a row.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
"""

from __future__ import annotations

from rooftile.strategies.spmv.gpu._base import RowSpmv


class CsrThreads(RowSpmv):
    """Results are the same in every run."""

    name = "csr_threads"
    order = 1
    summary = "a thread a row"
    form = "csr"


STRATEGY = CsrThreads()
