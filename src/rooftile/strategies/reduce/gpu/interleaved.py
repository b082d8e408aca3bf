"""Rung 2, `interleaved`: a tree in shared memory, whose threads at work lie ever farther apart.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., sections 10.3
and 10.4 (the simple tree and its divergence).
"""

from __future__ import annotations

from rooftile.strategies.reduce.gpu._base import TiledReduce


class Interleaved(TiledReduce):
    """Neighbours are combined, and never out of order."""

    name = "interleaved"
    order = 2
    reorders = False
    summary = "two elements a thread, joined by a tree of neighbours in shared memory"


STRATEGY = Interleaved()
