"""`naive`: a thread an element of the result."""

from __future__ import annotations

from rooftile.strategies.spmm.gpu._base import GpuSpmm


class Naive(GpuSpmm):
    """Results are the same in every run."""

    name = "naive"
    summary = "a thread an element of the result"


STRATEGY = Naive()
