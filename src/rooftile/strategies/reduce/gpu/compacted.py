"""`compacted`: the tree of neighbours, by the first threads of the block.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 2.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.cooperation import shared_tree
from rooftile.ops.features import features
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.reduce.gpu._base import TiledReduce


class Compacted(TiledReduce):
    """Neighbours are combined, and never out of order."""

    name = "compacted"
    summary = "the same tree by the first threads: no divergence, but bank conflicts"
    takes = features("axis dtype:* operator.commutative operator:*")

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """A tree over two elements a thread."""
        words = CARRIED_BYTES[problem.carried] // 4
        return shared_tree(config["THREADS"], "compacted", tiles, words)


STRATEGY = Compacted()
