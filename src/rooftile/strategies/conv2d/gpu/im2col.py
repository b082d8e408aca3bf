"""Rung 10, `im2col`: the unrolled matrix in memory, and a tiled matrix product.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 16.4 (the unroll kernel) and figure 5.9 (the product); Chellapilla, Puri,
Simard, "High Performance Convolutional Neural Networks for Document Processing" (2006).
"""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu._sizes import slice_images, slices, tile_of
from rooftile.strategies.gpu import Config, Step, Tunable

THREADS = 256
"""Threads of a block that unrolls or finishes."""


class Im2col(GpuConv2d):
    """Slices of images are unrolled, multiplied and finished one after another."""

    name = "im2col"
    order = 10
    summary = "unrolled matrix in memory, tiled matrix product"
    apart = "bias, activation and pool"
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
        """A block has at most 1024 threads."""
        threads = config["TILE_MAPS"] * config["TILE_COLUMNS"]
        return f"{threads} threads a block, at most 1024" if threads > 1024 else None

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """The unrolled matrix and the product of a slice."""
        matrix, sums = _floats(problem)
        images = slice_images(problem.batch, matrix + sums)
        return {"matrix": images * matrix, "sums": images * sums}

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """Unroll, multiply, finish: a set a slice of images."""
        images = slice_images(problem.batch, sum(_floats(problem)))
        return tuple(
            step
            for first, count in slices(problem.batch, images)
            for step in _slice_steps(problem, config, first, count)
        )


STRATEGY = Im2col()


def _floats(problem: Conv2d) -> tuple[int, int]:
    """float32 of one image's matrix and product."""
    plane = math.prod(problem.conv_read)
    return (problem.reduction - 1) * plane, problem.maps * plane


def _slice_steps(problem: Conv2d, config: Config, first: int, images: int) -> tuple[Step, ...]:
    plane, taps = math.prod(problem.conv_read), problem.reduction - 1
    columns, tile = images * plane, (config["TILE_COLUMNS"], config["TILE_MAPS"])
    results = images * problem.maps * math.prod(problem.output_size)
    unroll = Launch(
        "unroll",
        (blocks(plane, THREADS), min(taps, MOST_BLOCKS), min(images, MOST_BLOCKS)),
        (THREADS, 1, 1),
    )
    multiply = Launch(
        "multiply", (blocks(columns, tile[0]), blocks(problem.maps, tile[1]), 1), (*tile, 1)
    )
    finish = Launch("finish", (blocks(results, THREADS), 1, 1), (THREADS, 1, 1))
    return (
        Step(unroll, ("x", "matrix", first, images)),
        Step(multiply, ("weights", "matrix", "sums", columns)),
        Step(finish, ("sums", "bias", "out", first, images)),
    )
