"""Rung 4, `aggregated`: a block takes places for all of its elements by one atomic.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 9.6
(aggregation); Adinets, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics" (NVIDIA,
2014).
"""

from __future__ import annotations

from rooftile.strategies.compact.gpu._base import Counting


class Aggregated(Counting):
    """Takes problems whose elements may come in any order."""

    name = "aggregated"
    order = 4
    summary = "a block takes places by one atomic; the order of blocks is lost"


STRATEGY = Aggregated()
