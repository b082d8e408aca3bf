"""`vector_rows`: four neighbouring outputs a thread, read as vectors.

Source: NVIDIA, "CUDA C++ Best Practices Guide", section 10.2.1 (coalesced access); Luitjens,
"CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import Accesses, row_stores, vector_loads
from rooftile.analysis.divergence import guard_1d
from rooftile.devices.gpu import Launch
from rooftile.ops import Pool2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.pool2d.gpu._base import GpuPool2d

_MOST_COLUMNS = 64
"""Input columns of a thread that its registers hold."""


class VectorRows(GpuPool2d):
    """Takes images whose rows begin on 16 bytes."""

    name = "vector_rows"
    summary = "four neighbouring outputs a thread, inputs and outputs as vectors"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 128),)

    def limits(self, problem: Pool2d) -> str | None:
        if problem.width % 4:
            return f"rows of {problem.width} do not begin on 16 bytes"
        columns = _covered(problem)
        if columns > _MOST_COLUMNS:
            return f"four windows cover {columns} columns, registers hold {_MOST_COLUMNS}"
        return None

    def steps(self, problem: Pool2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread four outputs of a row."""
        grid = (blocks(_quads(problem), config["BLOCK"]), 1, 1)
        launch = Launch(self.kernel(), grid, (config["BLOCK"], 1, 1))
        return self.one(problem, launch)

    def accesses(self, problem: Pool2d, config: Config) -> dict[str, Accesses]:
        """A lane four results of a row reads what they cover, in vectors."""
        quads, pool, columns = _quads(problem), problem.pool, problem.output_shape[3]
        vectors = blocks(_covered(problem), 4)
        found = vector_loads(quads * vectors * pool.window[0])
        found += row_stores(columns, math.prod(problem.output_shape[:3]))
        last = len(guard_1d(quads, 1, config["BLOCK"]))
        return {self.kernel(): found + Accesses(divergent_warps=last)}


def _quads(problem: Pool2d) -> int:
    """Number of quads: four neighbouring results of a row, or the rest of it."""
    *planes, columns = problem.output_shape
    return math.prod(planes) * blocks(columns, 4)


def _covered(problem: Pool2d) -> int:
    """Columns of the image that four neighbouring windows cover."""
    return 3 * problem.pool.stride[1] + problem.pool.window[1]


STRATEGY = VectorRows()
