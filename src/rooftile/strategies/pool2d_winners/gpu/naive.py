"""`naive`: one thread a window, everything from global memory.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d_winners.gpu._base import GpuPool2dWinners


class Naive(GpuPool2dWinners):
    """Each thread walks its own window; neighbours' reads lie a stride apart."""

    name = "naive"
    summary = "one thread a window, everything from global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def steps(self, problem: Pool2dWinners, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a window."""
        return self.over(problem, problem.arrays[1].size, config)


STRATEGY = Naive()
