"""Deliberately wrong kernels: each is a right text with one thing changed."""

from __future__ import annotations

from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy

# Several tiles each way, a pool, images and channels enough to be mixed up.
PROBLEM = Conv2d(2, 3, 43, 75, 5, (3, 5), padding=(1, 2), activation="relu", pool=Pool.of("max", 2))

WRONG = {
    "missing halo": ("tile_output", "e < LOADED_Y * LOADED_X", "e < POSITIONS_Y * LOADED_X"),
    "halo of zeros": (
        "tile_core",
        "far = channel[image_row * WIDTH + image_column]",
        "far = 0.0f",
    ),
    "swapped taps": ("naive", "* MASK_WIDTH + q]", "* MASK_WIDTH + (q ^ (q < 2))]"),
    "flipped mask": (
        "constant",
        "mask + p * MASK_WIDTH + q",
        "mask + MASK_SIZE - 1 - p * MASK_WIDTH - q",
    ),
    "missing last row": ("restrict_unroll", "row >= ROWS", "row >= ROWS - 1"),
    "missing last column": ("tile_input", "column < COLUMNS", "column < COLUMNS - 1"),
    "one row too many": ("tile_output", "row < ROWS", "row <= ROWS"),
    "missing last map": ("coarsened", "first + k >= MAPS ||", "first + k >= MAPS - 1 ||"),
    "missing last channel": ("tile_output", "c < CHANNELS", "c < CHANNELS - 1"),
    "missing last image": ("row_pair", "n < images", "n < images - 1"),
    "bias forgotten": ("row_private", "start_sums(sums, bias[m])", "start_sums(sums, 0.0f)"),
    "pool over one row": ("row_local", "a < POOL_HEIGHT", "a < 1"),
    "mask a row too high": ("row_global", "l - a < MASK_HEIGHT", "l - a < MASK_HEIGHT - 1"),
    "relu that drops NaN": ("naive", "activate(kept(z, top, left))", "(z > 0.0f ? z : 0.0f)"),
    "maximum that drops NaN": (
        "tile_output",
        "maximum(pooled, y)",
        "((pooled) > (y) ? (pooled) : (y))",
    ),
    "rows and columns swapped": (
        "naive_transposed",
        "row = ALONG_ROWS ? across : down",
        "row = ALONG_ROWS ? down : across",
    ),
    "two positions that are one": ("tile_adjacent", "(first + n) * STRIDE_X", "first * STRIDE_X"),
    "weights of the slice's first map": ("tile_constant", "(slot * CHANNELS + c)", "c"),
    "ghost cells left out": (
        "restrict_unroll",
        "z += mask[p * MASK_WIDTH + q] * pixel(channel, top + p, left + q)",
        "if (top + p >= 0 && top + p < HEIGHT) "
        "z += mask[p * MASK_WIDTH + q] * pixel(channel, top + p, left + q)",
    ),
}  # fmt: skip


def wrong(name):
    """A rung whose text is wrong in the way of that name."""
    rung, before, after = WRONG[name]
    right = strategy("conv2d", rung, "opencl")
    kind = type(right)
    assert before in right.whole_text, f"{rung} has no {before!r}"
    copy = kind()
    copy.__dict__["text"] = right.whole_text.replace(before, after)
    return copy
