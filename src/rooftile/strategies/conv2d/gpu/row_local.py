"""`row_local`: the rows in shared memory, read once a block.

Source: the OpenCL report on a 5x5 convolution, variant with rows in local memory.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowLocal(RowConv2d):
    """The threads of a block make different maps, and share the input rows of a channel."""

    name = "row_local"
    summary = "the rows in shared memory, read once a block"
    shares_rows = True


STRATEGY = RowLocal()
