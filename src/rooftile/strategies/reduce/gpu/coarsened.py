"""`coarsened`: several elements a thread before the tree.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 10.8.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.cooperation import chain, shared_tree
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.reduce.gpu._base import TiledReduce


class Coarsened(TiledReduce):
    """Results are the same in every run."""

    name = "coarsened"
    summary = "several elements a thread before the tree"
    tunables = (*TiledReduce.tunables, Tunable("LOADS", (2, 4, 8, 16, 32), 8))

    def tile(self, config: Config) -> int:
        """LOADS elements a thread."""
        return config["LOADS"] * config["THREADS"]

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """LOADS elements a thread, then a tree of what threads have."""
        words, threads = CARRIED_BYTES[problem.carried] // 4, config["THREADS"]
        own = chain(problem.rows * problem.columns, config["LOADS"])
        return own + shared_tree(threads // 2, "sequential", tiles, words)


STRATEGY = Coarsened()
