"""`naive_transposed`: the same kernel with threads the other way round.

Not faster than `naive` but slower: it shows what it costs where the loads and stores of a warp
are not neighbours in memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 6.1
(memory coalescing).
"""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.naive import Naive


class NaiveTransposed(Naive):
    """Threads along x make neighbours of a column."""

    name = "naive_transposed"
    summary = "the same with neighbours in a column: what uncoalesced accesses cost"
    along_rows = True


STRATEGY = NaiveTransposed()
