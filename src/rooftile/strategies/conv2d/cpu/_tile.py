"""The tile of `register_tile`: its register block, its band, and the layout of scratch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.cpu._epilogue import folds
from rooftile.strategies.conv2d.cpu._flat_rows import FlatRows
from rooftile.strategies.conv2d.cpu._stage import Staged

Order = Literal["tap", "row"]
SUMMED = 800
"""Taps that are summed in one go."""


@dataclass(frozen=True)
class Block:
    """The register block: what one pass over the taps accumulates."""

    maps: int
    rows: int
    """Convolution rows."""
    vectors: int
    order: Order

    @property
    def size(self) -> int:
        """Accumulators."""
        return self.maps * self.rows * self.vectors


@dataclass(frozen=True)
class Tile:
    """A problem (its batch does not matter) with its register block and band."""

    problem: Conv2d
    block: Block
    band: int
    """Result rows of a unit of work."""
    lanes: int
    flat: bool = False
    """True if the rows of a band are stored end to end, and vectors run on over their ends."""
    groups: int = 1
    """Groups of the convolution; the problem is that of one group."""
    turn: int = 0
    """Taps of a mask's row, or in row order input rows, that one turn of a loop has written out; 0
    stands for all of them, without a loop."""

    @property
    def folded(self) -> bool:
        """True if the pool is taken in registers."""
        return folds(self.problem, self.lanes)

    @property
    def vectors(self) -> int:
        """Vectors that cover a row of the convolution; of rows end to end, the band's."""
        if self.flat:
            return self.flat_rows.vectors
        return -(-self.problem.conv_span[1] // self.lanes)

    @property
    def bands(self) -> int:
        """Units of work of one image."""
        return -(-self.problem.output_size[0] // self.band)

    @property
    def pool_rows(self) -> tuple[int, int]:
        """Window and stride of the pool, vertically; (1, 1) without a pool."""
        pool = self.problem.pool
        return (pool.window[0], pool.stride[0]) if pool else (1, 1)

    @property
    def conv_rows(self) -> int:
        """Convolution rows behind a band."""
        window, stride = self.pool_rows
        return (self.band - 1) * stride + window

    @property
    def flat_rows(self) -> FlatRows:
        """The addresses of a band's input rows, end to end."""
        return FlatRows(self.problem, self.conv_rows, self.lanes)

    @property
    def staged(self) -> Staged | FlatRows:
        """The addresses of a band's input rows."""
        if self.flat:
            return self.flat_rows
        rows = (self.conv_rows - 1) * self.problem.stride[0] + self.problem.extent[0]
        return Staged(self.problem, rows, self.vectors, self.lanes)

    @property
    def pitch(self) -> int:
        """Distance between rows of convolution outputs in scratch."""
        return self.vectors * self.lanes

    @property
    def scratch(self) -> int:
        """float32 of each thread's workspace."""
        return self.totals + (self.block.size * self.lanes if self.chunk else 0)

    @property
    def totals(self) -> int:
        """Offset in scratch of the sums of earlier chunks: after stage and rows."""
        rows = 0 if self.folded else self.block.maps * self.pool_rows[0] * self.pitch
        return self.staged.size + rows

    @property
    def chunk(self) -> int:
        """Channels that are summed in one go; 0 stands for all of them. Rounding errors grow with
        the length of a sum, so a long sum is made of short ones."""
        area = self.problem.mask[0] * self.problem.mask[1]
        channels = max(1, SUMMED // area)
        return channels if channels < self.problem.channels else 0

    @property
    def ahead(self) -> int:
        """Cache lines of the next image that each register block brings near, so that it has come
        when it is staged. Where an image has several bands, nobody knows whose the next one is."""
        if not self.staged.needed or self.bands > 1:
            return 0
        p, block, rows = self.problem, self.block, 1 if self.flat else self.conv_rows
        sizes = ((p.maps, block.maps), (rows, block.rows), (self.vectors, block.vectors))
        blocks = math.prod(-(-total // size) for total, size in sizes)
        return -(-p.channels * p.height * p.width // (16 * blocks))
