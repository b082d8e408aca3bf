"""Rung 1, `naive`: a thread a result."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.argreduce import Argreduce
from rooftile.strategies.argreduce.gpu._base import GpuArgreduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.gpu import Config, Step, Tunable


class Naive(GpuArgreduce):
    """Takes every problem."""

    name = "naive"
    order = 1
    summary = "a thread a result"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Argreduce, config: Config) -> tuple[Step, ...]:
        """One kernel."""
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        launch = Launch("naive", grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "places", *numbers_of(problem))),)


STRATEGY = Naive()
