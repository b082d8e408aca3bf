"""A thread for one window, and for four.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010; NVIDIA, "CUDA C++ Best Practices Guide", section 10.2.1 (coalesced access); Luitjens,
"CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.pools import window_macros
from rooftile.strategies.common.threads import OneKernel
from rooftile.strategies.contract.gpu import Config, Tunable


class GpuPool2dWinners(OneKernel):
    """A GPU strategy of `pool2d_winners`; takes every problem unless it says otherwise."""

    operation = "pool2d_winners"

    def macros(self, problem: Pool2dWinners, config: Config) -> dict[str, int | str]:
        return {**window_macros(problem), **config}

    def arguments(self, problem: Pool2dWinners) -> tuple[str | int, ...]:
        return ("x", "y", "where", problem.batch * problem.channels)


class Naive(GpuPool2dWinners):
    """Each thread walks its own window; neighbours' reads lie a stride apart."""

    name = "naive"
    summary = "one thread a window, everything from global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def threads(self, problem: Pool2dWinners) -> int:
        """Windows."""
        return problem.arrays[1].size


_MOST_COLUMNS = 64
"""Input columns of a thread that its registers hold."""


class VectorRows(GpuPool2dWinners):
    """Takes images whose rows begin on 16 bytes."""

    name = "vector_rows"
    summary = "four neighbouring windows a thread, each input read once, as vectors"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def limits(self, problem: Pool2dWinners) -> str | None:
        if problem.width % 4:
            return f"rows of {problem.width} do not begin on 16 bytes"
        columns = 3 * problem.pool.stride[1] + problem.pool.window[1]
        if columns > _MOST_COLUMNS:
            return f"four windows cover {columns} columns, registers hold {_MOST_COLUMNS}"
        return None

    def threads(self, problem: Pool2dWinners) -> int:
        """Fours of windows of a row."""
        planes, (rows, columns) = problem.batch * problem.channels, problem.output_size
        return planes * rows * blocks(columns, 4)


STRATEGIES = (Naive(), VectorRows())
