"""Rung 3, `lane_rows`: the lanes of a warp are rows of the masks, a window's patch in registers.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only winners have gradients); Volkov, "Better performance at lower occupancy", GTC 2010
(sums in registers).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.grid import MOST_BLOCKS, PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.conv2d_input_gradient.gpu._base import GpuInputGradient, arguments_of
from rooftile.strategies.gpu import Config, Step, Tunable

_LANES = 32
_MOST_PLACES = 16
"""Places of a window among which a jump picks."""
_MANY_IMAGES = 512
_MOST_NUMBERS = 128
"""Of a window's patch in a thread's registers."""


class LaneRows(GpuInputGradient):
    """Takes winners of windows that tile the image, without strides."""

    name = "lane_rows"
    order = 3
    summary = "one lane a row of a mask, a window's patch in registers, winner after winner"
    tunables = (Tunable("WARPS", (1, 2, 4, 8), 2),)

    def why_not(self, problem: Conv2dInputGradient) -> str | None:
        """Gradients of all outputs, windows that overlap or leave gaps, strides, large masks."""
        pool = problem.pool
        if pool is None:
            return "it is for gradients behind a max-pool"
        if pool.window != pool.stride:
            return f"windows tile the image, and {pool.window} at {pool.stride} do not"
        if problem.stride != (1, 1):
            return f"pixels of neighbouring outputs lie {problem.stride} apart"
        if (places := pool.window[0] * pool.window[1]) > _MOST_PLACES:
            return f"a window has {places} places, {_MOST_PLACES} at most"
        if problem.mask[0] > _LANES:
            return f"a mask has {problem.mask[0]} rows, a warp {_LANES} lanes"
        if blocks(problem.channels, _channels(problem)) > MOST_BLOCKS:
            return f"{problem.channels} channels"
        return self.invalid(problem, self.defaults(problem))

    def why_slow(self, problem: Conv2dInputGradient) -> str | None:
        """Few images: two warps each walk all windows of one, winner after winner."""
        if problem.batch < _MANY_IMAGES:
            return f"it pays from {_MANY_IMAGES} images on"
        return None

    def defaults(self, problem: Conv2dInputGradient) -> dict[str, int]:
        """Two warps, or one where two are too many: each has rows of its own to join."""
        return {"WARPS": 1 if self.invalid(problem, {"WARPS": 2}) else 2}

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        """More registers or shared memory than there are."""
        assert problem.pool is not None
        (down, right), (_, wide) = problem.pool.window, problem.mask
        if (held := down * (right + wide - 1)) > _MOST_NUMBERS:
            return f"a window's patch has {held} columns of rows, registers hold {_MOST_NUMBERS}"
        if (nbytes := _shared_bytes(problem, config)) > PORTABLE_SHARED_BYTES:
            return f"an image takes {nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        return None

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, the tunables, and how rows lie in shared memory."""
        lie = {"GROUP_CHANNELS": _channels(problem), "PITCH": _pitch(problem)}
        return {**super().macros(problem, config), **lie}

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        """One kernel, a block an image and group of channels."""
        grid = (problem.batch, blocks(problem.channels, _channels(problem)), 1)
        launch = Launch("input_gradient", grid, (_LANES * config["WARPS"], 1, 1))
        return (Step(launch, arguments_of(problem)),)


def _channels(problem: Conv2dInputGradient) -> int:
    """Channels whose masks' rows a warp has lanes for."""
    return min(problem.channels, _LANES // problem.mask[0])


def _pitch(problem: Conv2dInputGradient) -> int:
    """Columns of a row in shared memory: neighbouring rows begin in banks of their own."""
    assert problem.pool is not None
    right, wide = problem.pool.window[1], problem.mask[1]
    reached = (problem.arrays[0].shape[3] + blocks(wide - 1, right)) * right
    columns = max(reached, problem.width + 2 * problem.padding[1])
    return columns + (4 - columns) % 8


def _shared_bytes(problem: Conv2dInputGradient, config: Config) -> int:
    """Rows that are not complete, of each warp, all gradients with their places, and masks."""
    assert problem.pool is not None
    ring = problem.pool.window[0] + problem.mask[0] - 1
    rows = config["WARPS"] * _channels(problem) * ring * _pitch(problem)
    pieces = _channels(problem) * problem.mask[0] * blocks(problem.mask[1], 4)
    gradients = problem.arrays[0].size // problem.batch
    return 4 * rows + 8 * gradients + 16 * problem.maps * pieces


STRATEGY = LaneRows()
