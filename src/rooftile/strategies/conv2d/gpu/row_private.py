"""Rung 13, `row_private`: a thread slides a window along a row in its registers.

Source: the OpenCL row-sliding kernels of the course laboratory whose convolution is
`lab-conv5`; the published sweep is over work-groups x work-items of 28, 56, 112 x 64,
128, 256 on an M60 GPU.
"""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowPrivate(RowConv2d):
    """A thread makes one map of one row of the result; a tap meets four columns at a time."""

    name = "row_private"
    order = 13
    summary = "a thread a map slides a float4 window along a row in its registers"


STRATEGY = RowPrivate()
