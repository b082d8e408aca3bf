"""A block of `direct_tile`: bands of an image, threads, taps, and their memory."""

from __future__ import annotations

import math

from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.contract.machine import Multiprocessors
from rooftile.strategies.conv2d.gpu._base import blocks


def window(problem: Conv2d) -> tuple[int, int]:
    return problem.pool.window if problem.pool else (1, 1)


def padded_maps(problem: Conv2d, config: Config) -> int:
    size = config["THREAD_MAPS"] * config["BLOCK_GROUPS"]
    return blocks(problem.maps, size) * size


def threads(problem: Conv2d, config: Config) -> int:
    across = blocks(problem.output_size[1], config["THREAD_COLUMNS"])
    return across * max(1, config["BAND_ROWS"] // config["THREAD_ROWS"]) * config["BLOCK_GROUPS"]


def band_stride(problem: Conv2d, config: Config) -> int:
    """Rows of the image from one band to the next."""
    return config["BAND_ROWS"] * window(problem)[0] * problem.stride[0]


def ghost_rows(problem: Conv2d) -> int:
    """Rows of the image that a band has in common with the next."""
    return problem.mask[0] - problem.stride[0]


def busy(problem: Conv2d, config: Config) -> float:
    """The share of the lanes of all warps that own windows."""
    (rows, columns), width = problem.output_size, config["THREAD_COLUMNS"]
    owners = rows / config["THREAD_ROWS"] * blocks(columns, width)
    warps = blocks(threads(problem, config), 32)
    return owners * config["BLOCK_GROUPS"] / (32 * warps * blocks(rows, config["BAND_ROWS"]))


def grid(problem: Conv2d, config: Config) -> int:
    """Blocks for each set of map groups."""
    bands = problem.batch * blocks(problem.output_size[0], config["BAND_ROWS"])
    return blocks(bands, config["BLOCK_BANDS"])


def least_blocks(problem: Conv2d, config: Config, machine: Multiprocessors) -> int:
    """Blocks a multiprocessor that the compiler must allow: as many as registers allow.

    Only where a thread needs little but its sums and the patch rows that they meet at once: taps in
    constant memory, no strides, no ghost cells.
    """
    if not config["TAPS_CONSTANT"] or problem.stride != (1, 1) or problem.padding != (0, 0):
        return 1
    height, width = window(problem)
    rows, columns = config["THREAD_ROWS"] * height, config["THREAD_COLUMNS"] * width
    sums = config["THREAD_MAPS"] * rows * columns
    registers = max(64, blocks(sums + rows * (columns + problem.mask[1] - 1) + 12, 8) * 8)
    count = threads(problem, config)
    return max(1, min(8, machine.registers // (registers * count), 1024 // count))


def tap_row(problem: Conv2d, config: Config) -> int:
    """Taps of one mask row of a group of maps, in whole vectors."""
    return blocks(problem.mask[1] * config["THREAD_MAPS"], 4) * 4


def taps_bytes(problem: Conv2d, config: Config) -> int:
    """All packed taps."""
    groups = padded_maps(problem, config) // config["THREAD_MAPS"]
    return 4 * groups * problem.channels * problem.mask[0] * tap_row(problem, config)


def tile_of(problem: Conv2d, config: Config, narrow: str = "") -> dict[str, int]:
    """The layout of a band of one channel in shared memory."""
    (window_rows, window_columns), (down, right) = window(problem), problem.stride
    step = band_stride(problem, config)
    rows = step + ghost_rows(problem)
    across = blocks(problem.output_size[1], config["THREAD_COLUMNS"])
    thread_columns = config["THREAD_COLUMNS"] * window_columns * right
    columns = across * thread_columns - right + problem.mask[1]
    flat = problem.padding == (0, 0) and not narrow
    if narrow:
        # Whole rows of the image are rounded, whatever of them is used.
        columns = max(columns, problem.padding[1] + problem.width)
        piece = math.gcd(4, problem.width)
    else:
        piece = math.gcd(4, problem.height * problem.width, step * problem.width)
    pitch = problem.width if flat else blocks(columns, 4) * 4
    thread_rows = config["THREAD_ROWS"] * window_rows * down
    return {
        "FLAT": int(flat),
        "PIECE": piece,
        "PLACED": math.gcd(piece, problem.padding[1]),
        "PITCH": pitch,
        "ALIGNED": math.gcd(4, thread_columns, thread_rows * pitch),
        "TILE_ROWS": rows,
        # Windows beyond the last column reach beyond the last row.
        "TILE_SIZE": blocks((rows - 1) * pitch + max(pitch, columns), 4) * 4,
    }


def shared_bytes(problem: Conv2d, config: Config, narrow: str) -> int:
    channel_tiles = blocks(problem.channels, config["TILE_CHANNELS"])
    taps = problem.mask[0] * tap_row(problem, config) * config["BLOCK_GROUPS"]
    tap_copies = 0 if config["TAPS_CONSTANT"] else min(2, channel_tiles)
    tile_copies = min(2, channel_tiles * config["BLOCK_BANDS"])
    tile = tile_of(problem, config, narrow)["TILE_SIZE"]
    return 4 * config["TILE_CHANNELS"] * (tile_copies * tile + tap_copies * taps)
