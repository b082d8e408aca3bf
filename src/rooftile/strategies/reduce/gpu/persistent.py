"""Rung 7, `persistent`: resident blocks that bring more while all threads work.

Source: Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 7.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.reduce import Reduce
from rooftile.strategies.gpu import Config, Step
from rooftile.strategies.reduce.gpu._base import PersistentReduce


class Persistent(PersistentReduce):
    """Results are the same in every run."""

    name = "persistent"
    order = 7
    summary = "resident blocks share out a row, one tree each"

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        """Segments, then what they gave."""
        launch = Launch("segments", self.grid(problem, config), (config["THREADS"], 1, 1))
        return self.both(problem, config, launch)


STRATEGY = Persistent()
