"""`naive`: one thread a pixel of a channel, which gathers what it met.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.5.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d_input_gradient.gpu._base import GpuInputGradient, arguments_of


class Naive(GpuInputGradient):
    """Nobody writes where another writes: sums have the same order in every run."""

    name = "naive"
    summary = "one thread a pixel of a channel, everything from global memory"
    takes = features("before:* padding pool:max stride")
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an element of dx."""
        grid = (blocks(problem.arrays[-1].size, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*arguments_of(problem), problem.batch)),)


STRATEGY = Naive()
