"""The implicit matrix product's arrays, its tile, and its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rooftile.ops import Conv2d
from rooftile.strategies.common.cores import Cores
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.contract.machine import Multiprocessors
from rooftile.strategies.conv2d.gpu._base import blocks

MOST_BOX = 256
"""Rows that one copy of the engine brings."""
_MOST_STAGES, _MOST_RESIDENT = 8, 32
_STAGED_BYTES = 8 * 16 * 40 * 4
"""Eight warps keep 32 pixels' results of 16 maps before they store them."""
_BARRIERS = 16
"""Bytes of a buffer's two barriers."""
_ROW = 128
"""Bytes of a pixel's chunk of channels."""
_CACHE_RATE, _LATENCY = 30, 1500
"""Bytes a cycle that a multiprocessor gets from the cache, and cycles until the first arrive."""
_TILE, _RESULT = 400, 5
"""Cycles that a tile costs, and to finish and store a result of each of a warpgroup's rows."""


@dataclass(frozen=True)
class Layout:
    """A problem's arrays in device memory, and a tile of a config in shared memory."""

    problem: Conv2d
    cores: Cores
    numbers: int
    """Numbers of the cores' type that stand for one value."""
    maps: int
    """Maps of a tile."""
    pixels: int
    """Pixels of a warpgroup."""
    strips: bool
    """True if its pixels are a strip, eight columns of some rows; else they follow each other along
    the rows of an image with its ghost cells."""
    patches: int
    """Buffers for patches."""
    parts: int
    """Number of blocks that share a tile's taps."""
    room: int
    """Bytes of shared memory that a block may have."""

    @property
    def chunk(self) -> int:
        """Channels in 128 bytes: as wide as the swizzle is."""
        return _ROW // self.cores.bytes

    @property
    def chunks(self) -> int:
        """Chunks of a pixel."""
        return blocks(self.problem.channels, self.chunk)

    @property
    def image(self) -> tuple[int, int, int, int]:
        """[numbers x images][height][width][channels], in whole pieces of 16 bytes."""
        problem, piece = self.problem, 16 // self.cores.bytes
        images, channels = self.numbers * problem.batch, blocks(problem.channels, piece) * piece
        return (images, problem.height, problem.width, channels)

    @property
    def weights(self) -> tuple[int, int, int, int, int, int]:
        """[map tiles][chunks][taps][numbers][maps of a tile][channels of a chunk]"""
        problem = self.problem
        taps = math.prod(problem.mask)
        return (self.map_tiles, self.chunks, taps, self.numbers, self.maps, self.chunk)

    @property
    def map_tiles(self) -> int:
        return blocks(self.problem.maps, self.maps)

    @property
    def groups(self) -> int:
        """Warpgroups that have pixels of their own; else they have maps of their own."""
        return 128 // self.maps

    @property
    def line(self) -> int:
        """Pixels of a row of a patch.  Where rows follow each other, the ghost cells before one are
        those behind the row above, as far as those are not met by sums of their own."""
        if self.strips:
            return 8 * self.groups + self.problem.mask[1] - 1
        return max(self.problem.width + self.problem.padding[1], self.problem.conv_span[1])

    @property
    def positions(self) -> int:
        """Pixels of an image from the first result to the last, along the rows."""
        rows, columns = self.problem.conv_span
        return (rows - 1) * self.line + columns

    @property
    def rows(self) -> int:
        """Rows of a patch."""
        down, right = self.problem.mask
        if self.strips:
            return self.pixels // 8 + down - 1
        start = 0 if self.tiles_of_pixels == 1 else self.line - 1
        last = start + self.groups * self.pixels - 1 + (down - 1) * self.line + right - 1
        return last // self.line + 1

    @property
    def tiles_of_pixels(self) -> int:
        """Tiles of an image's pixels."""
        rows, columns = self.problem.conv_span
        if self.strips:
            return blocks(rows, self.pixels // 8) * blocks(columns, 8 * self.groups)
        return blocks(self.positions, self.groups * self.pixels)

    @property
    def tiles(self) -> int:
        """Tiles of an image."""
        return self.tiles_of_pixels * self.map_tiles

    @property
    def patch_bytes(self) -> int:
        """Bytes of a patch in one of its numbers, up to the next boundary of the swizzle's
        pattern."""
        return blocks(self.rows * self.line * _ROW, 1024) * 1024

    @property
    def stage_bytes(self) -> int:
        """Bytes of a tap's weights."""
        return self.numbers * self.maps * _ROW

    @property
    def steps(self) -> int:
        return self.chunks * math.prod(self.problem.mask)

    @property
    def resident(self) -> bool:
        """True if all weights stay in shared memory."""
        fits = min(self._most_stages, _MOST_RESIDENT) >= self.steps
        return self.map_tiles == 1 and self.parts == 1 and fits

    @property
    def stages(self) -> int:
        """Number of taps whose weights are in shared memory with the patches."""
        return self.steps if self.resident else min(_MOST_STAGES, self._most_stages)

    @property
    def _most_stages(self) -> int:
        patches = self.patches * (self.numbers * self.patch_bytes + _BARRIERS)
        return (self.room - patches - _STAGED_BYTES) // (self.stage_bytes + _BARRIERS)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that a block takes."""
        patches = self.patches * (self.numbers * self.patch_bytes + _BARRIERS)
        return patches + self.stages * (self.stage_bytes + _BARRIERS) + _STAGED_BYTES

    def cycles(self, machine: Multiprocessors) -> float:
        """About how long a multiprocessor takes."""
        products = 1 if self.numbers == 1 else 3
        depth = min(4, blocks(self.problem.channels * self.cores.bytes, 32))
        # Both warpgroups' instructions of 64 maps, which fetch both operands from shared memory.
        each = max(self.pixels / 2, (64 * 32 + self.pixels * 32) / 128)
        step = 2 * depth * products * each
        weights = 0 if self.resident else self.steps * self.stage_bytes
        patches = self.chunks * self.numbers * self.rows * self.line * _ROW
        # Few stages do not hide how long weights take to come, nor one buffer how long patches do.
        starved = 1 + 0.8 / self.stages**2
        alone = _LATENCY / 2 * self.chunks if self.patches == 1 else 0
        compute = self.steps * step * starved + alone
        share = max(compute, (weights + patches) / _CACHE_RATE) / self.parts
        finish = _TILE + _RESULT * self.pixels / self.parts
        tiles = self.problem.batch * self.tiles * self.parts
        rounds = blocks(tiles, machine.multiprocessors)
        hidden = self.resident and self.patches > 1
        between = max(share, finish) if hidden else share + finish
        return rounds * between + _LATENCY * (2 if self.parts > 1 else 1)


def layout_of(
    problem: Conv2d, cores: Cores, numbers: int, config: Config, machine: Multiprocessors
) -> Layout:
    """The layout of a config."""
    return Layout(
        problem,
        cores,
        numbers,
        config["TILE_MAPS"],
        config["PIXELS"],
        bool(config["STRIPS"]),
        config["PATCHES"],
        config["PARTS"],
        machine.shared_room(1),
    )
