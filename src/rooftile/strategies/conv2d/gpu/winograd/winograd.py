"""`winograd`: fewer multiplications by Toom-Cook transforms; precision `fast`.

3x3 and 5x5 masks: tiles of 4x4 outputs, transformed both ways (4 and 6.25 times
fewer multiplications).  Masks 7 high: four output rows, transformed along the height
only (2.8 times fewer), where few channels would not pay for a 10x10 transform.

Transforms lose about one decimal digit, and an output's error depends on the whole
tile's magnitude: hence `fast`.  A tile with an infinity or NaN in inputs or weights is
computed directly, so that they propagate as IEEE says.

Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.
"""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.ops.features import features
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.cpu._toom_cook import OUTPUTS, toom_cook
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, beyond_block, blocks
from rooftile.strategies.conv2d.gpu._slices import SlicedConv2d
from rooftile.strategies.conv2d.gpu.winograd._toom_cook_text import (
    input_macro,
    output_macro,
    weights_macro,
)

THREADS = 128
"""Threads of a block that transforms."""


class Winograd(SlicedConv2d):
    """Takes stride 1, masks 7 high, 5x5 and 3x3, and pools that tile four rows and columns."""

    name = "winograd"
    summary = "Toom-Cook/Winograd transforms: fewer multiplications, one decimal digit lost"
    takes = features(
        "activation:* boundary:interior,replicate padding pool.activation:* pool:average,l2,max"
    )
    precision = "fast"
    transforms = True
    summing = "multiply"
    tunables = (
        Tunable("TILE_MAPS", (4, 8, 16, 32, 64, 128), 64),
        Tunable("TILE_COLUMNS", (32, 64, 128), 128),
        Tunable("TILE_TAPS", (4, 8, 16), 8),
        Tunable("THREAD_MAPS", (1, 2, 4, 8), 8),
        Tunable("THREAD_COLUMNS", (1, 2, 4, 8), 8),
    )

    def limits(self, problem: Conv2d) -> str | None:
        if problem.mask[0] != 7 and problem.mask not in ((3, 3), (5, 5)):
            return f"it has transforms for 7-row, 5x5 and 3x3 masks, not {problem.mask}"
        pool = problem.pool
        if pool is not None and (
            pool.window != pool.stride or OUTPUTS % pool.window[0] or OUTPUTS % pool.window[1]
        ):
            return f"the pool must tile {OUTPUTS}x{OUTPUTS} outputs"
        return None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """A tile no higher than there are maps, and at least 64 threads on it."""
        maps = tile_of(problem.maps, 4, 64)
        small = {"THREAD_MAPS": min(8, maps), "THREAD_COLUMNS": max(2, min(8, maps // 4))}
        return {**super().defaults(problem), "TILE_MAPS": maps, **small}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        if config["THREAD_MAPS"] > config["TILE_MAPS"]:
            return "THREAD_MAPS exceeds TILE_MAPS"
        threads = math.prod(_block(config))
        registers = config["THREAD_MAPS"] * config["THREAD_COLUMNS"] + 64
        if threads * registers > self.machine.registers:
            return f"{threads} threads of {registers} registers a block"
        shared = 4 * config["TILE_TAPS"] * (config["TILE_MAPS"] + config["TILE_COLUMNS"])
        return beyond_block(threads, shared)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        matrices = toom_cook(problem.mask[0])
        tiles, span = _tiles(problem)
        return {
            **super().macros(problem, config),
            "THREADS": THREADS,
            "SIZE": matrices.size,
            "SIZE_X": _size(problem)[1],
            "OUT_X": 1 if _rows_only(problem) else OUTPUTS,
            "TAPS_X": _taps(problem),
            "TILES_Y": tiles[0],
            "TILES_X": tiles[1],
            "SPAN_X": span,
            "TRANSFORM_INPUT(from, to)": input_macro(matrices),
            "TRANSFORM_OUTPUT(from, to)": output_macro(matrices),
            "TRANSFORM_WEIGHTS(from, to)": weights_macro(matrices),
        }

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        taps = problem.channels * _taps(problem) * problem.maps
        masks = {"masks": math.prod(_size(problem)) * taps}
        return masks | super().workspace(problem, config)

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        taps = problem.channels * _taps(problem) * problem.maps
        launch = Launch(
            self.kernel("transform_weights"), (blocks(taps, THREADS), 1, 1), (THREADS, 1, 1)
        )
        return (Step(launch, ("weights", "masks")),)

    def image_floats(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Transformed inputs and their products."""
        (down, across), span = _tiles(problem)
        positions = math.prod(_size(problem))
        return {
            "transformed": positions * problem.channels * down * span,
            "products": positions * problem.maps * down * across,
        }

    def slice_steps(
        self, problem: Conv2d, config: Config, first: int, images: int
    ) -> tuple[Step, ...]:
        """Transform, multiply, transform back."""
        (down, across), span = _tiles(problem)
        depth = min(images, MOST_BLOCKS)
        width = 1
        if _rows_only(problem) and problem.pool:
            width = problem.pool.window[1]
        transform = Launch(
            self.kernel("transform_input"),
            (blocks(down * span, THREADS), min(problem.channels, MOST_BLOCKS), depth),
            (THREADS, 1, 1),
        )
        multiply = Launch(
            self.kernel("multiply"),
            (
                blocks(images * down * across, config["TILE_COLUMNS"]),
                blocks(problem.maps, config["TILE_MAPS"]),
                math.prod(_size(problem)),
            ),
            (*_block(config), 1),
        )
        finish = Launch(
            self.kernel("transform_finish"),
            (blocks(down * blocks(across, width), THREADS), min(problem.maps, MOST_BLOCKS), depth),
            (THREADS, 1, 1),
        )
        return (
            Step(transform, ("x", "transformed", first, images)),
            Step(multiply, ("masks", "transformed", "products", images)),
            Step(finish, ("x", "weights", "bias", "products", "out", first, images)),
        )


STRATEGY = Winograd()


def _rows_only(problem: Conv2d) -> bool:
    """True if only the height is transformed."""
    return problem.mask[0] == 7


def _size(problem: Conv2d) -> tuple[int, int]:
    """Inputs of a tile down and across."""
    size = toom_cook(problem.mask[0]).size
    return size, 1 if _rows_only(problem) else size


def _taps(problem: Conv2d) -> int:
    """Taps of a channel that are left to sum at each position."""
    return problem.mask[1] if _rows_only(problem) else 1


def _tiles(problem: Conv2d) -> tuple[tuple[int, int], int]:
    """Tiles of an image down and across, and the transformed columns of a row of tiles."""
    rows, columns = problem.conv_read
    across = columns if _rows_only(problem) else blocks(columns, OUTPUTS)
    return (blocks(rows, OUTPUTS), across), across + _taps(problem) - 1


def _block(config: Config) -> tuple[int, int]:
    """Threads across and down of a block that multiplies."""
    return (
        config["TILE_COLUMNS"] // config["THREAD_COLUMNS"],
        config["TILE_MAPS"] // config["THREAD_MAPS"],
    )
