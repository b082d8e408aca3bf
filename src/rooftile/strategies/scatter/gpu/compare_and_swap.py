"""Rung 2, `compare_and_swap`: a thread a value, a loop of compare and swap."""

from __future__ import annotations

from rooftile.strategies.scatter.gpu._base import GpuScatter


class CompareAndSwap(GpuScatter):
    """Takes every problem."""

    name = "compare_and_swap"
    order = 2
    summary = "a thread a value, a loop of compare and swap"


STRATEGY = CompareAndSwap()
