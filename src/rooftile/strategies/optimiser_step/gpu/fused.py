"""`fused`: one pass, in which a thread changes a parameter and its memories.

Sources: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015; Micikevicius and
others, "Mixed precision training", ICLR 2018, section 3.2.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.optimiser_step import GROWTH, MOST_SCALE, OptimiserStep
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.optimiser_step.gpu._base import GpuOptimiserStep, new

_MOST_FLAGS = 1024
"""Blocks that look for overflows, each of which leaves a flag that one block reads."""
_ONE_BLOCK = 256


class Fused(GpuOptimiserStep):
    """Two launches before find an overflow of a gradient, if gradients are scaled."""

    name = "fused"
    summary = "one pass, in which a thread changes a parameter and its memories"
    takes = features("optimizer:adam scaled")
    summing = "step"

    def macros(self, problem: OptimiserStep, config: Config) -> dict[str, int | str]:
        """And whether gradients are scaled."""
        found = {**super().macros(problem, config), "SCALED": int(problem.scaled)}
        if problem.scaled:
            scale = {"GROWTH": f"{GROWTH!r}f", "MOST_SCALE": f"{MOST_SCALE!r}f"}
            found |= {**scale, "FLAGS": self._flags(problem, config)}
        return found

    def workspace(self, problem: OptimiserStep, config: Config) -> dict[str, int]:
        """A flag of each block that looks, and what they come to, with the present scale."""
        if not problem.scaled:
            return {}
        return {"flags": self._flags(problem, config), "state": 2}

    def steps(self, problem: OptimiserStep, config: Config) -> tuple[Step, ...]:
        """The pass; before it, where gradients are scaled, the next scale."""
        kept = ("parameters", *problem.memories)
        given = ("gradients", *kept, *new(kept), "rates", "step")
        if not problem.scaled:
            return (self.over(problem, "step", given, config),)
        flags, block = self._flags(problem, config), (config["BLOCK"], 1, 1)
        look = Launch(self.kernel("look"), (flags, 1, 1), block, overlaps=True)
        one = (_ONE_BLOCK, 1, 1)
        rescale = Launch(self.kernel("rescale"), (1, 1, 1), one, overlaps=True)
        return (
            Step(look, ("gradients", "flags", np.int32(problem.size))),
            Step(rescale, ("flags", "scaling", "new_scaling", "state")),
            self.over(problem, "step", (*given, "state"), config),
        )

    def _flags(self, problem: OptimiserStep, config: Config) -> int:
        return min(_MOST_FLAGS, blocks(problem.size, config["BLOCK"]))


STRATEGY = Fused()
