"""`naive`: one thread a weight or a bias, which walks along the images. Source: PMPP, section
3.4."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.linear_weights_gradient import LinearWeightsGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear_weights_gradient.gpu._base import (
    GpuLinearWeightsGradient,
    read,
    written,
)


class Naive(GpuLinearWeightsGradient):
    """Each factor comes from global memory for each weight that it is multiplied for."""

    name = "naive"
    summary = "one thread a weight or a bias, which walks along the images"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def steps(self, problem: LinearWeightsGradient, config: Config) -> tuple[Step, ...]:
        grid = (blocks(problem.parameters, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1), overlaps=True)
        images = np.int32(problem.images)
        return (Step(launch, (*read(problem), *written(problem), images)),)


STRATEGY = Naive()
