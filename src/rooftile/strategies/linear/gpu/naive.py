"""Rung 1, `naive`: one thread an output, everything from global memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 3.4 (matrix multiplication, a thread an element of the result).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies._grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear


class Naive(GpuLinear):
    """Each thread walks its own row of weights; neighbours read far apart."""

    name = "naive"
    order = 1
    summary = "one thread an output, everything from global memory"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 128),)

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an output."""
        grid = (blocks(problem.batch * problem.outputs, config["BLOCK"]), 1, 1)
        launch = Launch("linear", grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)


STRATEGY = Naive()
