"""`naive`: one thread an element.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.strategies.bias_activation.gpu._base import GpuBiasActivation
from rooftile.strategies.contract.gpu import Config, Step


class Naive(GpuBiasActivation):
    """Each access moves four bytes."""

    name = "naive"
    summary = "one thread an element"

    def steps(self, problem: BiasActivation, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an element."""
        return self.over(problem, 1, config)


STRATEGY = Naive()
