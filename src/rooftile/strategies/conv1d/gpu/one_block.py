"""`one_block`: one block for everything, the classroom's first kernel.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.2, for
one axis and on one block.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv1d.gpu._accesses import thread_an_output
from rooftile.strategies.conv1d.gpu._base import GpuConv1d, numbers


class OneBlock(GpuConv1d):
    """Takes every problem."""

    name = "one_block"
    summary = "one block, whose threads take turns over all outputs"
    tunables = (Tunable("BLOCK", (128, 256, 512, 1024), 1024),)

    def why_slow(self, problem: Conv1d) -> str | None:
        """More outputs than a block has threads."""
        if problem.rows * problem.outputs > self.defaults(problem)["BLOCK"]:
            return "one block works, on one multiprocessor; the others idle"
        return None

    def steps(self, problem: Conv1d, config: Config) -> tuple[Step, ...]:
        """One kernel on one block."""
        launch = Launch(self.kernel(), (1, 1, 1), (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "weights", "out", *numbers(problem))),)

    def accesses(self, problem: Conv1d, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input and a weight."""
        return {self.kernel(): thread_an_output(problem, config["BLOCK"], weights=True)}


STRATEGY = OneBlock()
