"""`row_pair`: two rows of the result a group, from the same rows in shared memory.

Source: the OpenCL report on a 5x5 convolution, variant with two pooled rows a group.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowPair(RowConv2d):
    """All input rows of a channel that a pair of result rows reads, between two barriers."""

    name = "row_pair"
    summary = "two rows of the result a group: an input row in shared memory serves both"
    result_rows = 2
    shares_rows = True


STRATEGY = RowPair()
