"""Trees in the shared memory of a block, and what each way to join their elements costs.

Source: PMPP, sections 10.4 to 10.7 (convergent tree, shared memory, segments of several blocks);
sections 10.3 and 10.4 (the simple tree and its divergence); Harris, "Optimizing Parallel Reduction
in CUDA" (NVIDIA, 2007), reduction 2; section 10.8; Luitjens, "Faster Parallel Reductions on Kepler"
(NVIDIA, 2014); Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 7.
"""

from __future__ import annotations

from typing import ClassVar

from rooftile.analysis.accesses import Accesses, Counted
from rooftile.analysis.cooperation import chain, in_turn, shared_tree, warp_tree
from rooftile.analysis.divergence import Mapping
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import PersistentReduce, TiledReduce


class Tree(TiledReduce):
    """Results are the same in every run."""

    name = "tree"
    summary = "halves are joined: neither divergence nor bank conflicts"
    order: ClassVar[Mapping] = "sequential"
    """The elements that are joined, see `shared_tree`."""

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """A tree over two elements a thread."""
        words = CARRIED_BYTES[problem.carried] // 4
        return shared_tree(config["THREADS"], self.order, tiles, words)


class Interleaved(Tree):
    """Neighbours are combined, and never out of order."""

    name = "interleaved"
    summary = "two elements a thread, joined by a tree of neighbours in shared memory"
    takes = features("axis dtype:* operator.commutative operator:*")
    order: ClassVar[Mapping] = "interleaved"


class Compacted(Interleaved):
    """The same order of neighbours."""

    name = "compacted"
    summary = "the same tree by the first threads: no divergence, but bank conflicts"
    order = "compacted"


class Coarsened(TiledReduce):
    """Results are the same in every run."""

    name = "coarsened"
    summary = "several elements a thread before the tree"
    tunables = (*TiledReduce.tunables, Tunable("LOADS", (2, 4, 8, 16, 32), 8))

    def tile(self, config: Config) -> int:
        return config["LOADS"] * config["THREADS"]

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """LOADS elements a thread, then a tree of what threads have."""
        words, threads = CARRIED_BYTES[problem.carried] // 4, config["THREADS"]
        own = chain(problem.rows * problem.columns, config["LOADS"])
        return own + shared_tree(threads // 2, "sequential", tiles, words)


class Shuffles(Coarsened):
    """Results are the same in every run."""

    name = "shuffles"
    devices = ("cuda",)
    summary = "warps join their registers by shuffles, one barrier a block"

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """LOADS elements a thread, then trees of warps."""
        own = chain(problem.rows * problem.columns, config["LOADS"])
        return own + warp_tree(config["THREADS"], tiles)


class Persistent(PersistentReduce):
    """Results are the same in every run."""

    name = "persistent"
    summary = "resident blocks share out a row, one tree each"

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), self.grid(problem, config), (config["THREADS"], 1, 1))
        return self.both(problem, config, launch)

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """A share of a row a thread, then one tree a resident block."""
        held = problem.rows * self.segments(problem, config)
        words = CARRIED_BYTES[problem.carried] // 4
        made = self.brought(problem, held) + self.shares(problem, config)
        made += shared_tree(config["THREADS"] // 2, "sequential", held, words)
        made = in_turn(made, blocks(problem.rows, MOST_BLOCKS))
        return self.joined(problem, config, made)


STRATEGIES = (Tree(), Interleaved(), Compacted(), Coarsened(), Shuffles(), Persistent())
