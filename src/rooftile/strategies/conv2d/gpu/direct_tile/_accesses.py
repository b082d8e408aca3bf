"""Accesses of `direct_tile`: bands of rows copied asynchronously to shared memory."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rooftile.analysis.accesses import (
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    linear_stores,
    vector_loads,
    warps_of,
)
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d.gpu._accesses import window


def band_accesses(
    problem: Conv2d, layout: Mapping[str, int], launch: Launch, band_stride: int, tap_row: int
) -> Accesses:
    """``layout`` is the config and a band's layout in shared memory, ``band_stride`` the rows from
    one band to the next, ``tap_row`` the taps of a mask row of a group of maps."""
    bands = blocks(problem.output_size[0], layout["BAND_ROWS"])
    # A set of map groups loads the bands of its own.
    planes = problem.batch * problem.channels * launch.grid[1]
    found = _band_loads(problem, layout, bands, band_stride, planes)
    vectors = problem.mask[0] * tap_row // 4
    if not layout["TAPS_CONSTANT"]:
        held = layout["BLOCK_BANDS"] if problem.channels <= layout["TILE_CHANNELS"] else 1
        found += vector_loads(planes * bands * vectors * layout["BLOCK_GROUPS"] / held)
    results = math.prod(problem.output_shape)
    found += broadcasts(results / WARP / layout["THREAD_COLUMNS"])
    found += linear_stores(results)
    warps = planes * bands * warps_of(launch.threads)
    reads = _patch(problem, layout) + (0 if layout["TAPS_CONSTANT"] else vectors)
    return found + Accesses(shared_reads=warps * reads)


def _band_loads(
    problem: Conv2d, layout: Mapping[str, int], bands: int, step: int, planes: int
) -> Accesses:
    """The rows of each band that are of the image."""
    rows, pitch = layout["TILE_ROWS"], layout["PITCH"]
    real = sum(inside(b * step - problem.padding[0], rows, problem.height) for b in range(bands))
    if layout["FLAT"]:
        piece = layout["PIECE"]
        return vector_loads(planes * real * problem.width / piece, piece)
    whole = bands * rows * pitch
    return linear_loads(planes * whole, pitch, share=real * problem.width / whole)


def _patch(problem: Conv2d, layout: Mapping[str, int]) -> int:
    """Inputs under a thread's windows, each of which it reads once a channel."""
    (high, wide), (down, across) = window(problem)[0], problem.stride
    rows = (layout["THREAD_ROWS"] * high - 1) * down + problem.mask[0]
    columns = (layout["THREAD_COLUMNS"] * wide - 1) * across + problem.mask[1]
    return rows * columns
