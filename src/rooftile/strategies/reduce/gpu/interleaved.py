"""`interleaved`: a tree in shared memory, whose threads at work lie ever farther apart.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., sections 10.3
and 10.4 (the simple tree and its divergence).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.cooperation import shared_tree
from rooftile.ops.features import features
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.reduce.gpu._base import TiledReduce


class Interleaved(TiledReduce):
    """Neighbours are combined, and never out of order."""

    name = "interleaved"
    summary = "two elements a thread, joined by a tree of neighbours in shared memory"
    takes = features("axis dtype:* operator.commutative operator:*")

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """A tree over two elements a thread."""
        words = CARRIED_BYTES[problem.carried] // 4
        return shared_tree(config["THREADS"], "interleaved", tiles, words)


STRATEGY = Interleaved()
