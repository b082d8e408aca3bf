"""Rung 14, `row_local`: a work-item slides a window along a row in local memory.

Source: as `row_private`, whose laboratory found this one slower: a barrier a row.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowLocal(RowConv2d):
    """The items of a group, which make different maps, share each input row."""

    name = "row_local"
    order = 14
    summary = "the row in local memory, read once a group, at the price of barriers"
    shared_rows = 1


STRATEGY = RowLocal()
