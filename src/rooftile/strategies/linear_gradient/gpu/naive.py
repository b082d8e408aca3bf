"""`naive`: one thread an element of dx, dweights or dbias.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 3.4.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear_gradient.gpu._base import ARGUMENTS, GpuLinearGradient


class Naive(GpuLinearGradient):
    """Every thread computes the gradients before the activation that it wants again."""

    name = "naive"
    summary = "one thread an element, everything from global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def steps(self, problem: LinearGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an element of the three outputs."""
        elements = sum(array.size for array in problem.output_arrays)
        launch = Launch(
            self.kernel(), (blocks(elements, config["BLOCK"]), 1, 1), (config["BLOCK"], 1, 1)
        )
        return (Step(launch, (*ARGUMENTS, problem.images)),)


STRATEGY = Naive()
