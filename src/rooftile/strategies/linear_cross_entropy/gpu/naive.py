"""`naive`: a launch for each layer, the loss and each gradient, a thread an element. Source:
Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.5, algorithms 6.3 and 6.4."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.linear_cross_entropy.gpu._base import GpuLinearCrossEntropy


class Naive(GpuLinearCrossEntropy):
    """Each launch reads from memory what the one before has written."""

    name = "naive"
    summary = "a launch for each layer, the loss and each gradient"
    takes = features("before:* below:* features scaled")
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)
    summing = "scores"

    def pays(self, problem: LinearCrossEntropy) -> bool:
        """See `Strategy.pays`: the operations of the single steps have faster strategies."""
        return False

    def macros(self, problem: LinearCrossEntropy, config: Config) -> dict[str, int | str]:
        below = ACTIVATION_CODES[problem.below]
        more = {"FEATURES": problem.features, "BELOW": below}
        return {**super().macros(problem, config), **more}

    def workspace(self, problem: LinearCrossEntropy, config: Config) -> dict[str, int]:
        return {"scores": problem.images * problem.outputs}

    def steps(self, problem: LinearCrossEntropy, config: Config) -> tuple[Step, ...]:
        n, block = problem.images, (config["BLOCK"], 1, 1)

        def over(what: str, each: int, *arguments: str) -> Step:
            grid = (blocks(n * each, block[0]), 1, 1)
            return Step(Launch(self.kernel(what), grid, block), (*arguments, np.int32(n)))

        value, change = ("hidden", "hidden_dz") if problem.features else ("x", "dx")
        scaling = ("scaling",) if problem.scaled else ()
        first: tuple[Step, ...] = ()
        rest: tuple[Step, ...] = ()
        if problem.features:
            weights = "first_weights"
            first = (over("hidden", problem.inputs, "x", weights, "first_bias", "hidden"),)
            rest = (over("dx", problem.features, "x", weights, "hidden_dz", "dx"),)
        return (
            *first,
            over("scores", problem.outputs, value, "weights", "bias", "scores"),
            over("losses", 1, "scores", "labels", *scaling, "loss", "dz"),
            over("change", problem.inputs, value, "weights", "dz", change),
            *rest,
        )


STRATEGY = Naive()
