"""`persistent`: resident blocks that bring more while all threads work.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 7.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import in_turn, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.reduce.gpu._base import PersistentReduce


class Persistent(PersistentReduce):
    """Results are the same in every run."""

    name = "persistent"
    summary = "resident blocks share out a row, one tree each"

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        """Segments, then what they gave."""
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


STRATEGY = Persistent()
