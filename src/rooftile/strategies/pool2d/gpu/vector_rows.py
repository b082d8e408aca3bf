"""Rung 2, `vector_rows`: four neighbouring outputs a thread, read as vectors.

Source: NVIDIA, "CUDA C++ Best Practices Guide", section 10.2.1 (coalesced access); Luitjens,
"CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops import Pool2d
from rooftile.strategies._grid import blocks
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d.gpu._base import GpuPool2d

_MOST_COLUMNS = 64
"""Input columns of a thread that its registers hold."""


class VectorRows(GpuPool2d):
    """Takes images whose rows begin on 16 bytes."""

    name = "vector_rows"
    order = 2
    summary = "four neighbouring outputs a thread, inputs and outputs as vectors"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def why_not(self, problem: Pool2d) -> str | None:
        """Rows off the grid of vectors; windows wider than the registers."""
        if problem.width % 4:
            return f"rows of {problem.width} do not begin on 16 bytes"
        columns = 3 * problem.pool.stride[1] + problem.pool.window[1]
        if columns > _MOST_COLUMNS:
            return f"four windows cover {columns} columns, registers hold {_MOST_COLUMNS}"
        return None

    def steps(self, problem: Pool2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four outputs of a row."""
        _, channels, rows, columns = problem.output_shape
        groups = problem.batch * channels * rows * blocks(columns, 4)
        launch = Launch("pool2d", (blocks(groups, config["BLOCK"]), 1, 1), (config["BLOCK"], 1, 1))
        return (Step(launch, ("x", "out", problem.batch)),)


STRATEGY = VectorRows()
