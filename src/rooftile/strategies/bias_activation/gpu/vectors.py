"""`vectors`: four neighbouring elements a thread, each access 16 bytes.

Source: Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.strategies.bias_activation.gpu._base import GpuBiasActivation
from rooftile.strategies.contract.gpu import Config, Step


class Vectors(GpuBiasActivation):
    """The last elements, which fill no vector, are one thread's."""

    name = "vectors"
    summary = "four neighbouring elements a thread, as vectors"

    def steps(self, problem: BiasActivation, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four elements."""
        return self.over(problem, 4, config)


STRATEGY = Vectors()
