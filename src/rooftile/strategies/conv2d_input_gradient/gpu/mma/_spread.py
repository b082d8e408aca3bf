"""Rungs in 16 bits by ``mma.sync``, for GPUs of compute capability 8.0 and later.

Source: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4
(transposed convolution); NVIDIA, "Parallel Thread Execution ISA", on ``mma`` and ``ldmatrix``.
"""

from __future__ import annotations

import math

from rooftile.devices.gpu import Launch
from rooftile.ops.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.conv2d_input_gradient.gpu._base import GpuInputGradient, arguments_of
from rooftile.strategies.gpu import Config, Step, Tunable

_ROWS = 16
"""Pairs of pixels of an instruction."""
_GROUP = 16
"""Maps of an instruction."""
_UNIT = 16
"""Bytes that eight maps' gradients of an output take."""
_CHANNELS = 4
_MOST_HELD = 16
"""Gradients of a thread, in its registers with their places."""
_MOST_ROWS = 16
"""Rows of a mask, by the registers of a column of its taps."""


class Spread(GpuInputGradient):
    """Takes winners of windows that do not overlap; an image's gradients fit shared memory."""

    devices = ("cuda",)
    least_architecture = 80
    tensor_cores = True
    source = "spread"
    pays_from = 64
    """Images from which on it is faster than `gathered`."""
    tunables = (
        Tunable("WARPS", (2, 4, 5, 8, 10), 8),
        Tunable("BLOCKS", (1, 2, 3), 2),
        Tunable("BAND", (2, 4, 5, 7, 8, 10, 14), 10),
        Tunable("TILE_PAIRS", (4, 5), 4),
    )

    def why_not(self, problem: Conv2dInputGradient) -> str | None:
        """Gradients of all outputs, windows that overlap, strides, high masks, images beyond shared
        memory, and slopes that a rounded x changes."""
        pool = problem.pool
        if pool is None or any(s < w for s, w in zip(pool.stride, pool.window, strict=True)):
            return "it is for max-pools whose windows do not overlap"
        if problem.stride != (1, 1):
            return f"pixels of neighbouring outputs lie {problem.stride} apart"
        if problem.before not in ("none", "relu"):
            return f"a rounded value of {problem.before} gives no slope"
        if (high := problem.mask[0]) > _MOST_ROWS:
            return f"a mask has {high} rows, {_MOST_ROWS} at most"
        return self.invalid(problem, {**self.defaults(problem), "BLOCKS": 1})

    def why_slow(self, problem: Conv2dInputGradient) -> str | None:
        """Few images, of which each is a block's."""
        if problem.batch < self.pays_from:
            return f"it pays from {self.pays_from} images on"
        return None

    def defaults(self, problem: Conv2dInputGradient) -> dict[str, int]:
        """The bands that read fewest rows of gradients, a tile a warp, two blocks where they fit."""
        high = problem.mask[0] - 1

        def read(band: int) -> tuple[int, int]:
            return blocks(problem.height, 4 * band) * (band + high), band

        band = min((2, 4, 5, 8, 10), key=read)
        tiles = _tiles(problem, {"BAND": band, "TILE_PAIRS": 4})
        warps = next((w for w in (10, 8, 5, 4) if tiles % w == 0), 8 if tiles > 4 else 4)
        found = {"WARPS": warps, "BLOCKS": 2, "BAND": band, "TILE_PAIRS": 4}
        return {**found, "BLOCKS": 1} if self.invalid(problem, found) else found

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        """More shared memory than multiprocessors have, or gradients than registers hold."""
        shared, room = _shared(problem, config), self.machine.shared_room(config["BLOCKS"])
        if shared > room:
            return f"{shared} bytes of shared memory, {room} for a block"
        winners = problem.arrays[0].size // problem.batch
        if (held := blocks(winners, 32 * config["WARPS"])) > _MOST_HELD:
            return f"{held} gradients of a thread, {_MOST_HELD} at most"
        return None

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, the cores' type, and how gradients lie in shared memory."""
        rows, pitch = _plane(problem, config)
        lie = {"PLANE_ROWS": rows, "PITCH": pitch, "CORES": CORES[self.precision].word}
        return {**super().macros(problem, config), **lie}

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        """One kernel; blocks share out the images."""
        across = min(problem.batch, self.machine.multiprocessors * config["BLOCKS"])
        grid, shared = (across, blocks(problem.channels, _CHANNELS), 1), _shared(problem, config)
        launch = Launch("input_gradient", grid, (32 * config["WARPS"], 1, 1), shared)
        return (Step(launch, (*arguments_of(problem), problem.batch)),)


def _tiles(problem: Conv2dInputGradient, config: Config) -> int:
    """Tiles of pixels, each a warp's."""
    down = _ROWS // config["TILE_PAIRS"] * config["BAND"]
    return blocks(problem.width, 2 * config["TILE_PAIRS"]) * blocks(problem.height, down)


def _plane(problem: Conv2dInputGradient, config: Config) -> tuple[int, int]:
    """Rows, and units in a row of a column's parity, of eight maps' gradients.

    Of the rows of an instruction as few as can be lie in the same banks.
    """
    (above, left), (high, wide) = problem.padding, problem.mask
    pairs, band = config["TILE_PAIRS"], config["BAND"]
    tall, across = _ROWS // pairs * band, 2 * pairs
    rows = blocks(problem.height, tall) * tall + above + high - 1
    columns = blocks(problem.width, across) * across + left + wide
    least = blocks(max(columns, problem.width + 2 * left), 2)

    def shared(pitch: int) -> int:
        units = [(row // pairs * band * pitch + row % pairs) % 8 for row in range(_ROWS)]
        return -len(set(units[:8])) - len(set(units[8:]))

    return max(rows, problem.height + 2 * above), min(range(least, least + 8), key=shared)


def _shared(problem: Conv2dInputGradient, config: Config) -> int:
    """Bytes of an image's gradients among zeros, and of the masks as they are multiplied."""
    (rows, pitch), groups = _plane(problem, config), blocks(problem.maps, _GROUP)
    masks = groups * (problem.mask[1] + 1) * problem.mask[0] * 32 * 8
    return groups * 2 * 2 * rows * pitch * _UNIT + masks
