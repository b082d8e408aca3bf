"""`naive`: one thread a row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.1 and 6.2.2.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.loss_gradient.gpu._base import ARGUMENTS, GpuLossGradient


class Naive(GpuLossGradient):
    """Neighbouring threads read a whole row apart."""

    name = "naive"
    summary = "one thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 256),)

    def steps(self, problem: LossGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a row."""
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*ARGUMENTS, problem.rows)),)


STRATEGY = Naive()
