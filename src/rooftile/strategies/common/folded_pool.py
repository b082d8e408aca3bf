"""The layout of images, weights and tasks of the folded pool.

Four neighbouring results of a map, a fold's window, are four columns of a matrix product over the
patch of inputs that they read.  `docs/understand/kernels.md` explains slab, band, strip and
segment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config

GROUP_MAPS = 4
"""Maps whose columns one instruction has: 16, four a map."""
_LEAST_ROWS = 8
"""Of a band of few images: each loads rows of the image that the next one loads too."""


def does_not_fold(problem: Conv2d) -> str | None:
    """Why a pool is not positions of a product's columns; None where it is."""
    pool = problem.pool
    if pool is None or pool.window != pool.stride:
        return "it folds a pool whose windows tile the image"
    if pool.window[0] % 2 or pool.window[1] not in (2, 4, 8):
        return f"windows are folded 2x2, and {pool.window} are not even, and 2, 4 or 8 wide"
    if problem.stride != (1, 1) or problem.mask[1] > 7:
        return "a patch is 8 wide: masks of up to 7 columns without strides"
    return None


def pool_window(problem: Conv2d) -> tuple[int, int]:
    """Rows and columns of the pool's window."""
    assert problem.pool is not None
    return problem.pool.window


def groups_of(problem: Conv2d) -> int:
    """Groups of maps."""
    return blocks(problem.maps, GROUP_MAPS)


def patch_slabs(problem: Conv2d) -> int:
    """Slabs of a channel's patch: pairs of its rows."""
    return (problem.mask[0] + 2) // 2


def slabs_of(problem: Conv2d) -> int:
    """Slabs of a patch."""
    return problem.channels * patch_slabs(problem)


def strips_of(problem: Conv2d, halves: int = 2) -> int:
    """Strips of an image's width: eight fold's windows each or, in undivided bands, sixteen."""
    return blocks(problem.output_size[1] * pool_window(problem)[1], 32 // halves)


def halves_of(problem: Conv2d) -> int:
    """Number of halves that a band is cut into, a window of each for a lane; one where the pool's
    windows have adjacent folds, two for a lane, and strips of sixteen leave none over."""
    return 1 if pool_window(problem)[1] > 2 and strips_of(problem) % 2 == 0 else 2


def bands_of(problem: Conv2d, config: Config) -> int:
    """Bands of all images."""
    return problem.batch * blocks(problem.output_size[0], config["BAND_ROWS"])


def rows_of_few(
    problem: Conv2d, config: Config, choices: Iterable[int], multiprocessors: int
) -> int:
    """Rows of a band: ``config``'s, or where images are few some of the choices that leave no rest
    of an image, so that no multiprocessor is idle."""
    most, enough = config["BAND_ROWS"], 3 * multiprocessors // 2
    if bands_of(problem, config) >= enough:
        return most
    fewer = [
        rows
        for rows in choices
        if _LEAST_ROWS <= rows <= most and problem.output_size[0] % rows == 0
    ]
    many = [r for r in fewer if bands_of(problem, {**config, "BAND_ROWS": r}) >= enough]
    return max(many, default=min(fewer, default=most))


def divides(config: Config, segments: int, halves: int = 2) -> bool:
    """True if segments of a half band are equal, and made of whole windows."""
    return blocks(config["BAND_ROWS"], halves) % segments == 0


def whole_segments(problem: Conv2d, config: Config, halves: int = 2) -> list[int]:
    """Into how many segments strips may be cut so that four warps always multiply together; else
    into one."""
    strips = strips_of(problem, halves)
    return [s for s in (1, 2, 4) if strips * s % 4 == 0 and divides(config, s, halves)] or [1]


def tile_of(problem: Conv2d, rows: int, element_bytes: int, halves: int = 2) -> dict[str, int]:
    """The layout in shared memory of a band of ``rows`` rows of results, copied in elements of this
    size."""
    window = pool_window(problem)
    half = blocks(rows, halves)
    # All halves' windows, and the patch below the last.
    tile_rows = halves * half * window[0] + 2 * patch_slabs(problem) - 2
    flat = problem.padding == (0, 0) and problem.width % 2 == 0
    columns = 16 * strips_of(problem) + 6
    pitch = problem.width if flat else blocks(columns, 2) * 2
    image, band = problem.height * problem.width, rows * window[0] * problem.width
    piece = element_bytes * math.gcd(16 // element_bytes, image, band)
    return {
        "HALF_ROWS": half,
        "FLAT": int(flat and piece >= 4),
        "PIECE_BYTES": max(4, piece),
        "PITCH": pitch,
        "TILE_ROWS": tile_rows,
        "TILE_SIZE": blocks((tile_rows - 1) * pitch + max(pitch, columns), 8) * 8,
    }


def folded(problem: Conv2d, weights: Float32) -> Float32:
    """The weights at the four places of a fold's window, zeros around them: [group][map][channel]
    [slab][row of the slab][lane of four][element 2 lane or 2 lane + 1][row and column of the
    window]."""
    groups, (height, width) = groups_of(problem), problem.mask
    slabs = patch_slabs(problem)
    patches = np.zeros((GROUP_MAPS * groups, problem.channels, 2 * slabs, 8, 2, 2), weights.dtype)
    for dy in (0, 1):
        for dx in (0, 1):
            patches[: problem.maps, :, dy : dy + height, dx : dx + width, dy, dx] = weights
    return patches.reshape(groups, GROUP_MAPS, problem.channels, slabs, 2, 4, 2, 2, 2)


def weight_bytes(problem: Conv2d) -> int:
    """Bytes of the folded weights in 16 bits."""
    return 512 * groups_of(problem) * slabs_of(problem)
