"""`naive`: a pass for each memory of the optimiser, then one for the parameters.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.optimiser_step import OptimiserStep
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.optimiser_step.gpu._base import GpuOptimiserStep, new


class Naive(GpuOptimiserStep):
    """As elementwise operations of a library are: what one pass writes the next one reads."""

    name = "naive"
    summary = "a pass for each memory, then one for the parameters"
    takes = features("optimizer:adam")

    def steps(self, problem: OptimiserStep, config: Config) -> tuple[Step, ...]:
        """Two kernels, of Adam three."""
        passes = [
            self.over(problem, memory, ("gradients", memory, f"new_{memory}"), config)
            for memory in problem.memories
        ]
        given = ("parameters", *new(problem.memories), "rates", "step", "new_parameters")
        return (*passes, self.over(problem, "parameters", given, config))


STRATEGY = Naive()
