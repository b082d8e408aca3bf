"""`shuffles`: the threads of a warp exchange registers.

Source: Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA, 2014).
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.cooperation import chain, warp_tree
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.reduce.gpu.coarsened import Coarsened


class Shuffles(Coarsened):
    """Results are the same in every run."""

    name = "shuffles"
    devices = ("cuda",)
    summary = "warps join their registers by shuffles, one barrier a block"

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """LOADS elements a thread, then trees of warps."""
        own = chain(problem.rows * problem.columns, config["LOADS"])
        return own + warp_tree(config["THREADS"], tiles)


STRATEGY = Shuffles()
