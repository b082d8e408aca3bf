"""Products of the weights and the unrolled matrix, in memory, in tiles and in registers.

Source: PMPP, section 16.4 (the unroll kernel) and figure 5.9 (the product); Chellapilla, Puri,
Simard, "High Performance Convolutional Neural Networks for Document Processing" (2006); Chetlur et
al., "cuDNN: Efficient Primitives for Deep Learning" (2014), section 3.2; PMPP, section 16.5; PMPP,
section 16.4, with the tiling of Volkov and Demmel, "Benchmarking GPUs to Tune Dense Linear
Algebra", SC08.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    linear_loads,
    row_loads,
    row_stores,
    vector_loads,
)
from rooftile.analysis.divergence import guard_2d
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import (
    finish_sums,
    positions_of,
    real_share,
    result_stride,
    tiled_product,
    window,
)
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, beyond_block, blocks
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
        return {**super().macros(problem, config), "THREADS": THREADS}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
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
        return beyond_block(config["TILE_MAPS"] * config["TILE_COLUMNS"])

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
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


_TILE, _THREADS = 128, 256


class Im2colRegister(GpuConv2d):
    """Takes pools of one, two or four positions a window."""

    name = "im2col_register"
    summary = "implicit matrix multiply, 8 x 8 results a thread, the pool folded in registers"
    tunables = (Tunable("TILE_K", (8, 16), 16),)

    def limits(self, problem: Conv2d) -> str | None:
        pool = problem.pool
        if pool is not None and 4 % (pool.window[0] * pool.window[1]):
            return f"a thread has four neighbouring pixels, a window {pool.window} of the pool more"
        return None

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        padded = blocks(problem.maps, _TILE) * _TILE
        return {**super().macros(problem, config), "PADDED_MAPS": padded}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[taps][maps], channels innermost among the taps, zeros up to whole tiles of both."""
        taps = weights.transpose(2, 3, 1, 0).reshape(-1, problem.maps)
        depth = blocks(taps.shape[0], config["TILE_K"]) * config["TILE_K"] - taps.shape[0]
        return np.pad(taps, ((0, depth), (0, -problem.maps % _TILE)))

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        rows, columns = problem.output_size
        window = problem.pool.window if problem.pool else (1, 1)
        pixels = problem.batch * rows * columns * window[0] * window[1]
        grid = (blocks(pixels, _TILE), blocks(problem.maps, _TILE), 1)
        launch = Launch(self.kernel(), grid, (_THREADS, 1, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Vectors of packed weights, and pixels that follow each other window by window."""
        (high, wide), depth = window(problem)[0], problem.reduction - 1
        results = math.prod(problem.output_shape)
        pixels = problem.batch * math.prod(problem.output_size) * high * wide
        across, down, _ = self.steps(problem, config)[0].launch.grid
        stages = blocks(depth, config["TILE_K"]) * config["TILE_K"]
        found = vector_loads(across * down * stages * _TILE / 4)
        # A warp's pixels are in `high` rows; adjacent windows are neighbours in a row.
        run = min(WARP // high, problem.output_size[1] * wide)
        runs = pixels * depth * down / run * real_share(problem)
        found += row_loads(run, runs, stride=problem.stride[1], lanes=run)
        found += broadcasts(results / WARP)
        # A thread stores neighbouring results of eight maps.
        found += row_stores(results, 1, lanes=SECTOR_FLOATS)
        # Four vectors a thread and tap: 16 threads a warp read different ones of the pixels.
        warps = pixels / _TILE * down * _THREADS / WARP
        return {self.kernel(): found + Accesses(shared_reads=warps * stages * 4)}


STRATEGIES = (Im2col(), Im2colFused(), Im2colRegister())
