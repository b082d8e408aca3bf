"""`row_global`: a thread owns a map and reads its rows from global memory.

Source: the OpenCL report on a 5x5 convolution, variant without caching.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowGlobal(RowConv2d):
    """A thread makes one map of one row of the result; a tap meets four columns at a time."""

    name = "row_global"
    summary = "a thread a map slides a float4 window along rows in global memory"


STRATEGY = RowGlobal()
