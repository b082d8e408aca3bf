"""`naive`: one thread a row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 4.1 (the stable form) and
6.2.2.3.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.softmax_cross_entropy.gpu._base import GpuSoftmaxCrossEntropy, arguments


class Naive(GpuSoftmaxCrossEntropy):
    """Neighbouring threads read a whole row apart."""

    name = "naive"
    summary = "one thread a row"
    tunables = (Tunable("BLOCK", (32, 64, 128, 256), 64),)

    def steps(self, problem: SoftmaxCrossEntropy, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.batch, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, arguments(problem)),)


STRATEGY = Naive()
