"""Rung 1, `naive`: a thread an element of the result."""

from __future__ import annotations

from rooftile.strategies.spmm.gpu._base import GpuSpmm


class Naive(GpuSpmm):
    """Results are the same in every run."""

    name = "naive"
    order = 1
    summary = "a thread an element of the result"


STRATEGY = Naive()
