"""`constant`: weights in constant memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 7.3.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.common.volumes import PlainStrategy
from rooftile.strategies.conv3d.gpu.naive import Naive


class Constant(PlainStrategy):
    """Takes weights of up to 65,536 bytes."""

    operation = "conv3d"
    name = "constant"
    family = "constant_memory"  # `constant` is a word of OpenCL C.
    summary = "weights in constant memory, whose cache serves a warp with one read"
    takes = features("boundary:valid form:batch")
    tunables = Naive.tunables


STRATEGY = Constant()
