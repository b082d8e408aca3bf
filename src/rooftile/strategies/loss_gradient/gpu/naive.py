"""`naive`: one thread a row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.1 and 6.2.2.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.loss_gradient.gpu._base import ARGUMENTS, GpuLossGradient

_MOST_OUTPUTS = 6
"""On an H200 248 rows of 6 take 1.17 us, 1.29 by `block_rows`; 5,696 of 8 take 1.88 and 1.36, and
2 rows of 1,056 take 28 and 1.9."""


class Naive(GpuLossGradient):
    """Neighbouring threads read a whole row apart."""

    name = "naive"
    summary = "one thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 256),)

    def why_slow(self, problem: LossGradient) -> str | None:
        """Rows of more outputs than threads of a block share."""
        if problem.outputs > _MOST_OUTPUTS:
            return f"a thread computes a row alone, which pays up to {_MOST_OUTPUTS} outputs"
        return None

    def steps(self, problem: LossGradient, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.rows, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*ARGUMENTS, problem.rows)),)


STRATEGY = Naive()
