"""`im2col`: the unrolled matrix in memory, and a tiled matrix product.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 16.4 (the unroll kernel) and figure 5.9 (the product); Chellapilla, Puri,
Simard, "High Performance Convolutional Neural Networks for Document Processing" (2006).
"""

from __future__ import annotations

import math

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    linear_loads,
    row_loads,
    row_stores,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import finish_sums, real_share, tiled_product
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.conv2d.gpu._slices import SlicedConv2d

THREADS = 256
"""Threads of a block that unrolls or finishes."""


class Im2col(SlicedConv2d):
    """Slices of images are unrolled, multiplied and finished one after another."""

    name = "im2col"
    summary = "unrolled matrix in memory, tiled matrix product"
    apart = "bias, activation and pool"
    summing = "multiply"
    tunables = (
        Tunable("TILE_MAPS", (4, 8, 16, 32), 16),
        Tunable("TILE_COLUMNS", (16, 32, 64, 128), 64),
        Tunable("TILE_TAPS", (8, 16, 32), 16),
    )

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """A tile no higher than there are maps."""
        return {**super().defaults(problem), "TILE_MAPS": tile_of(problem.maps, 4, 16)}

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """Sizes, tunables, and the threads of the simple kernels."""
        return {**super().macros(problem, config), "THREADS": THREADS}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        """Too many threads."""
        return beyond_block(config["TILE_MAPS"] * config["TILE_COLUMNS"])

    def image_floats(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The unrolled matrix and the product."""
        plane = math.prod(problem.conv_read)
        return {"matrix": (problem.reduction - 1) * plane, "sums": problem.maps * plane}

    def slice_steps(
        self, problem: Conv2d, config: Config, first: int, images: int
    ) -> tuple[Step, ...]:
        """Unroll, multiply, finish."""
        plane, taps = math.prod(problem.conv_read), problem.reduction - 1
        columns, tile = images * plane, (config["TILE_COLUMNS"], config["TILE_MAPS"])
        results = images * problem.maps * math.prod(problem.output_size)
        unroll = Launch(
            self.kernel("unroll"),
            (blocks(plane, THREADS), min(taps, MOST_BLOCKS), min(images, MOST_BLOCKS)),
            (THREADS, 1, 1),
        )
        multiply = Launch(
            self.kernel("multiply"),
            (blocks(columns, tile[0]), blocks(problem.maps, tile[1]), 1),
            (*tile, 1),
        )
        finish = Launch(self.kernel("finish"), (blocks(results, THREADS), 1, 1), (THREADS, 1, 1))
        return (
            Step(unroll, ("x", "matrix", first, images)),
            Step(multiply, ("weights", "matrix", "sums", columns)),
            Step(finish, ("sums", "bias", "out", first, images)),
        )

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """The unrolled matrix is written, read by the tiles of the product, and the sums again."""
        plane, taps = math.prod(problem.conv_read), problem.reduction - 1
        rows, columns = problem.batch * taps, problem.batch * plane
        share = real_share(problem, once=True)
        unroll = linear_loads(
            rows * plane, problem.conv_read[1], stride=problem.stride[1], share=share
        )
        high, wide = config["TILE_MAPS"], config["TILE_COLUMNS"]
        lanes, alignment = min(WARP, wide), math.gcd(columns, SECTOR_FLOATS)
        product = tiled_product(problem.maps, taps, columns, config)
        tile_rows = blocks(problem.maps, high)
        product += row_loads(columns, taps * tile_rows, lanes=lanes, alignment=alignment)
        product += row_stores(columns, problem.maps, lanes=lanes)
        guard = guard_2d(columns, problem.maps, wide, high)
        return {
            self.kernel("unroll"): unroll + row_stores(plane, rows),
            self.kernel("multiply"): product + Accesses(divergent_warps=guard),
            self.kernel("finish"): finish_sums(problem),
        }


STRATEGY = Im2col()
