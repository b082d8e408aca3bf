"""Rung 15, `row_vector`: two output rows a block, from the same rows in shared memory.

Source: as `row_private`; the published best of the sweep is of this kind.
"""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.gpu._base import blocks
from rooftile.strategies.conv2d.gpu._rows import RowConv2d
from rooftile.strategies.gpu import Tunable


class RowVector(RowConv2d):
    """All input rows of a channel that a pair of output rows reads, between two barriers."""

    name = "row_vector"
    order = 15
    summary = "two output rows a block: an input row in shared memory serves both"
    shared_rows = -1
    tunables = (
        Tunable("GROUPS", (28, 56, 112), 112),
        Tunable("ITEMS", (64, 128, 256), 64),
        Tunable("SPAN", (8, 16, 32, 64), 16),
    )

    def rows_to_share(self, problem: Conv2d) -> int:
        """Pairs of rows of the convolution."""
        return blocks(problem.conv_read[0], 2)


STRATEGY = RowVector()
