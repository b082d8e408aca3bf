"""`naive`: one thread a pixel of x, which reads the four old ones around it.

Source: Szeliski, "Computer Vision: Algorithms and Applications", 2nd ed., section 3.5.1 (bilinear).
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.layers.gather_batch import GatherBatch
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.gather_batch.gpu._base import ARGUMENTS, GpuGatherBatch


class Naive(GpuGatherBatch):
    """Neighbouring pixels read the same old ones again."""

    name = "naive"
    summary = "one thread a pixel, which reads the four old ones around it"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: GatherBatch, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a pixel."""
        count = problem.images * problem.channels * problem.height * problem.width
        grid = (blocks(count, config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return (Step(launch, (*ARGUMENTS, np.int64(count))),)


STRATEGY = Naive()
