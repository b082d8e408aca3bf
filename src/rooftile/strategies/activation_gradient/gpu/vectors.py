"""`vectors`: four neighbouring elements a thread, each access 16 bytes.

Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.strategies.activation_gradient.gpu._base import GpuActivationGradient
from rooftile.strategies.contract.gpu import Config, Step, Tunable


class Vectors(GpuActivationGradient):
    """The last elements, which fill no vector, are one thread's."""

    name = "vectors"
    summary = "four neighbouring elements a thread, as vectors"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: ActivationGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four elements."""
        return self.over(problem, 4, config)


STRATEGY = Vectors()
