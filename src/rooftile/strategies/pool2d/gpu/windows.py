"""A thread for one window, and for four. Source: PMPP, section 16.2 (subsampling after a
convolution); NVIDIA, "CUDA C++ Best Practices Guide", section 10.2.1 (coalesced access); Luitjens,
"CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013."""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    Accesses,
    linear_loads,
    linear_stores,
    row_stores,
    vector_loads,
)
from rooftile.analysis.divergence import guard_1d
from rooftile.ops import Pool2d
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, POOL_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.threads import OneKernel
from rooftile.strategies.contract.gpu import Config, Tunable


class GpuPool2d(OneKernel):
    """A GPU strategy of `pool2d`; takes every problem unless it says otherwise."""

    operation = "pool2d"
    takes = features("bias pool.activation:*")

    def macros(self, problem: Pool2d, config: Config) -> dict[str, int | str]:
        pool, (rows, columns) = problem.pool, problem.output_shape[2:]
        return {
            "CHANNELS": problem.channels,
            "HEIGHT": problem.height,
            "WIDTH": problem.width,
            "ROWS": rows,
            "COLUMNS": columns,
            "POOL_HEIGHT": pool.window[0],
            "POOL_WIDTH": pool.window[1],
            "POOL_STRIDE_Y": pool.stride[0],
            "POOL_STRIDE_X": pool.stride[1],
            "POOL_KIND": POOL_CODES[pool.kind],
            "POOL_ACTIVATION": ACTIVATION_CODES[pool.activation],
            "BIASED": int(problem.bias),
            **config,
        }

    def arguments(self, problem: Pool2d) -> tuple[str | int, ...]:
        return ("x", *problem.parameter_shapes, "out", problem.batch)


class Naive(GpuPool2d):
    """Each thread walks its own window; neighbours' reads lie a stride apart."""

    name = "naive"
    summary = "one thread an output, everything from global memory"
    tunables = (Tunable("BLOCK", (64, 128, 256, 512), 256),)

    def threads(self, problem: Pool2d) -> int:
        """Outputs."""
        return math.prod(problem.output_shape)

    def accesses(self, problem: Pool2d, config: Config) -> dict[str, Accesses]:
        """A lane a result reads its window."""
        results, pool = math.prod(problem.output_shape), problem.pool
        reads = results * math.prod(pool.window)
        found = linear_loads(reads, problem.output_shape[3], stride=pool.stride[1])
        last = len(guard_1d(results, 1, config["BLOCK"]))
        return {self.kernel(): found + linear_stores(results) + Accesses(divergent_warps=last)}


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

    def threads(self, problem: Pool2d) -> int:
        """Fours of outputs of a row."""
        return _quads(problem)

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


STRATEGIES = (Naive(), VectorRows())
