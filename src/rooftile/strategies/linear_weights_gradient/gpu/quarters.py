"""`quarters`: tiles of 32 x 32 weights, of which each quarter of a block adds every fourth image.
Source: PMPP, sections 5.4 (tiling) and 6.3 (thread coarsening)."""

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

_TILE, _THREADS = 32, 256
_FEW_IMAGES = 64
"""Number of images up to which a block takes all of them, in one launch."""
_MOST_PARTS = 16


class Quarters(GpuLinearWeightsGradient):
    """Images are cut into parts where there are too few tiles to fill the GPU."""

    name = "quarters"
    summary = "tiles of weights in registers, images shared out to quarters of a block"
    tunables = (Tunable("PARTS", (1, 2, 4, 8, 16), 1),)

    def defaults(self, problem: LinearWeightsGradient) -> dict[str, int]:
        """As many parts as leave no multiprocessor idle; one of few images."""
        parts = 1
        if problem.images > _FEW_IMAGES:
            while parts < _MOST_PARTS and _tiles(problem) * parts < self.machine.multiprocessors:
                parts *= 2
        return {"PARTS": parts}

    def workspace(self, problem: LinearWeightsGradient, config: Config) -> dict[str, int]:
        parts = config["PARTS"]
        return {"partial": parts * problem.parameters} if parts > 1 else {}

    def steps(self, problem: LinearWeightsGradient, config: Config) -> tuple[Step, ...]:
        parts, made = config["PARTS"], written(problem)
        launch = Launch(self.kernel(), (_tiles(problem), parts, 1), (_THREADS, 1, 1), overlaps=True)
        partial = ("partial",) if parts > 1 else ()
        step = Step(launch, (*read(problem), *made, *partial, np.int32(problem.images)))
        if parts == 1:
            return (step,)
        grid = (blocks(problem.parameters, _THREADS), 1, 1)
        finish = Launch(self.kernel("finish"), grid, (_THREADS, 1, 1), overlaps=True)
        return step, Step(finish, ("partial", *made))


def _tiles(problem: LinearWeightsGradient) -> int:
    return sum(blocks(i, _TILE) * blocks(o, _TILE) for i, o in problem.layers)


STRATEGY = Quarters()
