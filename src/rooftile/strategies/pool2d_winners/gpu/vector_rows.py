"""`vector_rows`: four neighbouring windows a thread, read as vectors.

Source: NVIDIA, "CUDA C++ Best Practices Guide", section 10.2.1 (coalesced access); Luitjens,
"CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d_winners.gpu._base import GpuPool2dWinners

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

    def steps(self, problem: Pool2dWinners, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four windows of a row."""
        planes, (rows, columns) = problem.batch * problem.channels, problem.output_size
        return self.over(problem, planes * rows * blocks(columns, 4), config)


STRATEGY = VectorRows()
