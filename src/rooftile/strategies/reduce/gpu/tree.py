"""`tree`: halves are joined, the active threads and their elements always the first.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., sections 10.4
to 10.7 (convergent tree, shared memory, segments of several blocks).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.cooperation import shared_tree
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.reduce.gpu._base import TiledReduce


class Tree(TiledReduce):
    """Results are the same in every run."""

    name = "tree"
    summary = "halves are joined: neither divergence nor bank conflicts"

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """A tree over two elements a thread."""
        words = CARRIED_BYTES[problem.carried] // 4
        return shared_tree(config["THREADS"], "sequential", tiles, words)


STRATEGY = Tree()
