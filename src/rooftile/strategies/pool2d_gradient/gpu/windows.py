"""A thread for an element of the image, and for a window. Source: Scherer, Müller, Behnke,
"Evaluation of Pooling Operations in Convolutional Architectures", ICANN 2010."""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.pools import window_macros
from rooftile.strategies.common.threads import OneKernel
from rooftile.strategies.contract.gpu import Config, Tunable


class GpuPool2dGradient(OneKernel):
    """A GPU strategy of `pool2d_gradient`; takes every problem unless it says otherwise."""

    operation = "pool2d_gradient"

    def macros(self, problem: Pool2dGradient, config: Config) -> dict[str, int | str]:
        return {**window_macros(problem), "AVERAGE": int(problem.pool.kind == "average"), **config}

    def arguments(self, problem: Pool2dGradient) -> tuple[str | int, ...]:
        return ("x", "dy", "dx", problem.batch * problem.channels)


class Naive(GpuPool2dGradient):
    """Every element of a window finds its argmax again."""

    name = "naive"
    summary = "one thread an element, which finds the argmax of all its windows"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def threads(self, problem: Pool2dGradient) -> int:
        """Elements of x."""
        return problem.arrays[0].size


class Cells(GpuPool2dGradient):
    """Takes windows that do not overlap: then no element gets more than one gradient."""

    name = "cells"
    summary = "one thread a window, which finds its argmax once and writes all of its cell"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def limits(self, problem: Pool2dGradient) -> str | None:
        (tall, wide), (down, right) = problem.pool.window, problem.pool.stride
        if tall > down or wide > right:
            return f"windows of {tall} x {wide} overlap at strides of {down} and {right}"
        return None

    def threads(self, problem: Pool2dGradient) -> int:
        """Cells: the image cut by the strides."""
        down, right = problem.pool.stride
        cells = blocks(problem.height, down) * blocks(problem.width, right)
        return problem.batch * problem.channels * cells


STRATEGIES = (Naive(), Cells())
