"""`cells`: one thread a window and the elements up to the next one.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d_gradient.gpu._base import GpuPool2dGradient


class Cells(GpuPool2dGradient):
    """Takes windows that do not overlap: then no element gets more than one gradient."""

    name = "cells"
    summary = "one thread a window, which finds its winner once and writes all of its cell"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def limits(self, problem: Pool2dGradient) -> str | None:
        (tall, wide), (down, right) = problem.pool.window, problem.pool.stride
        if tall > down or wide > right:
            return f"windows of {tall} x {wide} overlap at strides of {down} and {right}"
        return None

    def steps(self, problem: Pool2dGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a cell: the image cut by the strides."""
        down, right = problem.pool.stride
        cells = blocks(problem.height, down) * blocks(problem.width, right)
        return self.over(problem, problem.batch * problem.channels * cells, config)


STRATEGY = Cells()
