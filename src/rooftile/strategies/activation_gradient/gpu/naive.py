"""`naive`: one thread an element.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 2.3.
"""

from __future__ import annotations

from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.strategies.activation_gradient.gpu._base import GpuActivationGradient
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class Naive(GpuActivationGradient):
    """Each access moves four bytes."""

    name = "naive"
    summary = "one thread an element"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: ActivationGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an element."""
        return self.over(problem, 1, config)


STRATEGY = Naive()
