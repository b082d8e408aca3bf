"""Rung 14, `row_local`: a thread slides a window along a row in shared memory.

Source: as `row_private`, whose laboratory found this one slower: a barrier a row.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowLocal(RowConv2d):
    """The threads of a block make different maps, and share each input row."""

    name = "row_local"
    order = 14
    summary = "the row in shared memory, read once a block, at the price of barriers"
    shared_rows = 1


STRATEGY = RowLocal()
