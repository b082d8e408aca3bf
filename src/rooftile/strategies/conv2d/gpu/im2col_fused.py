"""`im2col_fused`: implicit GEMM, the unrolled matrix only in shared memory.

Source: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning" (2014), section
3.2; Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section
16.5.
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import WARP, Accesses, broadcasts, linear_loads, row_stores
from rooftile.analysis.divergence import guard_2d
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import (
    positions_of,
    real_share,
    result_stride,
    tiled_product,
)
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, beyond_block, blocks


class Im2colFused(GpuConv2d):
    """A block's tiles of the unrolled matrix are gathered straight from the images."""

    name = "im2col_fused"
    summary = "unrolled matrix only as tiles in shared memory, pool in registers"
    tunables = (
        Tunable("TILE_MAPS", (4, 8, 16, 32), 16),
        Tunable("TILE_COLUMNS", (16, 32, 64, 128), 32),
        Tunable("TILE_TAPS", (8, 16, 32), 16),
    )

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """A tile no higher than there are maps."""
        return {**super().defaults(problem), "TILE_MAPS": tile_of(problem.maps, 4, 16)}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Too many threads."""
        return beyond_block(config["TILE_MAPS"] * config["TILE_COLUMNS"])

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel, a thread a result."""
        tile = config["TILE_COLUMNS"], config["TILE_MAPS"]
        places = problem.batch * math.prod(problem.output_size)
        grid = (blocks(places, tile[0]), blocks(problem.maps, tile[1]), 1)
        launch = Launch(self.kernel(), grid, (*tile, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """`im2col`'s tiles, gathered from the images, once for each position of the window."""
        plane, taps = math.prod(problem.output_size), problem.reduction - 1
        places, positions = problem.batch * plane, positions_of(problem)
        high, wide = config["TILE_MAPS"], config["TILE_COLUMNS"]
        tile_rows = blocks(problem.maps, high)
        found = linear_loads(
            places * taps * positions * tile_rows,
            problem.output_size[1],
            stride=result_stride(problem),
            share=real_share(problem),
        )
        for _ in range(positions):
            found += tiled_product(problem.maps, taps, places, config)
        found += broadcasts(tile_rows * high * places / WARP)
        found += row_stores(plane, problem.batch * problem.maps, lanes=min(WARP, wide))
        guard = guard_2d(places, problem.maps, wide, high)
        return {self.kernel(): found + Accesses(divergent_warps=guard)}


STRATEGY = Im2colFused()
