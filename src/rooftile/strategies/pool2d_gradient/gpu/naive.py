"""`naive`: one thread an element, which looks at every window that it is part of.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d_gradient.gpu._base import GpuPool2dGradient


class Naive(GpuPool2dGradient):
    """Every element of a window finds its winner again."""

    name = "naive"
    summary = "one thread an element, which finds the winners of all its windows"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: Pool2dGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread an element of x."""
        return self.over(problem, problem.arrays[0].size, config)


STRATEGY = Naive()
