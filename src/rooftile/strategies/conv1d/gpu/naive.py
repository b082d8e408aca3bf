"""`naive`: a thread an output, as many blocks as that takes.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.2, for
one axis.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv1d.gpu._accesses import thread_an_output
from rooftile.strategies.conv1d.gpu._base import BLOCKS, GpuConv1d, numbers


class Naive(GpuConv1d):
    """Takes every problem."""

    name = "naive"
    summary = "a thread an output on as many blocks as that takes, the mask from global memory"
    tunables = (BLOCKS,)

    def steps(self, problem: Conv1d, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.outputs, config["BLOCK"]), min(problem.rows, MOST_BLOCKS), 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "weights", "out", *numbers(problem))),)

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        return {self.kernel(): thread_an_output(problem, config["BLOCK"], weights=True)}


STRATEGY = Naive()
