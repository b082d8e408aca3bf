"""The layout of an image's pixels and gradients in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.storage import is_narrow, item_bytes

WARPS = 8
"""Warps that store images, and as many that multiply."""
CHANNELS = 4
"""Of a block."""
_PIECE = 128
"""Bytes of eight times 16 bytes, of which matrices are made."""
_ROWS = 64
"""Of a warpgroup's product: maps at the columns of positions in a window."""
_SIDE = 4
"""Windows of a step, across and down."""
_EXPONENT = 16
"""Bytes of a stage for its products' scale."""
_UNIT = 4
"""Pixels that a thread brings at a time."""


@dataclass(frozen=True)
class Layout:
    """Numbers of a problem that the text is compiled with."""

    problem: Conv2dWeightsGradient

    @property
    def window(self) -> tuple[int, int]:
        """The pool's."""
        assert self.problem.pool is not None
        return self.problem.pool.window

    @property
    def tile_maps(self) -> int:
        """Maps of a block."""
        return _ROWS // self.window[1]

    @property
    def in_turn(self) -> bool:
        """True if both warpgroups have one pair of rows of positions, and every other image."""
        return self.window[0] // 2 % 2 == 1

    @property
    def kinds(self) -> int:
        """Kinds of blocks: of rows of positions, two or four of each window."""
        return self.window[0] // (2 if self.in_turn else 4)

    @property
    def down(self) -> int:
        """Steps one above another."""
        return blocks(self.problem.layer.output_size[0], _SIDE)

    @property
    def across(self) -> int:
        """Steps side by side."""
        return blocks(self.problem.layer.output_size[1], _SIDE)

    @property
    def steps(self) -> int:
        return self.across * self.down

    @property
    def chunks(self) -> int:
        """Adjacent pairs of pixels that a window's masks meet."""
        return blocks(self.window[1] + self.problem.mask[1] - 1, 2)

    @property
    def tile_rows(self) -> int:
        """Rows of pixels that whole steps meet."""
        return self.down * _SIDE * self.window[0] + self.problem.mask[0] - 1

    @property
    def units(self) -> int:
        last = (_SIDE * self.across - 1) * (self.window[1] // 2)
        return blocks(2 * (last + self.chunks), _UNIT)

    @property
    def turn_rows(self) -> int:
        """Rows of pixels that a block brings at a time: whole ones."""
        return 32 * WARPS // self.units

    @property
    def tasks(self) -> int:
        """Units that a thread brings of an image."""
        return blocks(self.tile_rows, self.turn_rows)

    @property
    def sums(self) -> int:
        """Of a thread: two of every eight columns in each of two rows."""
        return 4 * self.problem.mask[0] * self.chunks

    @property
    def pixel_bytes(self) -> int:
        """Bytes of an image's pixels: each row with the next one, and one before."""
        return self.across * (self.tile_rows + 1) * self.chunks * _PIECE

    @property
    def stage_bytes(self) -> int:
        """Bytes of an image's pixels, then of its gradients and of where they stand."""
        lanes = 32 * self.steps * self.tile_maps // 16
        return self.pixel_bytes + 24 * lanes + _EXPONENT

    @property
    def joined_bytes(self) -> int:
        """Bytes of both warpgroups' sums."""
        return 4 * 32 * WARPS * self.sums

    def held(self) -> int:
        pixels = self.tasks * CHANNELS * _UNIT // (4 // item_bytes(self.problem, "x"))
        turns = blocks(self.steps * self.tile_maps // 8, WARPS)
        # Two windows of a word share a register, where they are adjacent in fewer bits.
        beside = self.problem.layer.output_size[1] % 2 == 0
        narrow = (is_narrow(self.problem, name) for name in ("dy", "where"))
        given = sum(1 if one and beside else 2 for one in narrow)
        return pixels + turns * 2 * given
