"""Rung 1, `naive`: a thread a sum.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 10.1;
Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.reduce import Reduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.reduce.gpu._base import GpuReduce, plain


class Naive(GpuReduce):
    """Takes every problem."""

    name = "naive"
    order = 1
    summary = "a thread a sum"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        """One kernel."""
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        return plain(problem, Launch("naive", grid, (config["BLOCK"], 1, 1)))


STRATEGY = Naive()
