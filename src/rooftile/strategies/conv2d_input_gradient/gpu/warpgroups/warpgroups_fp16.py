"""`warpgroups_fp16`: whole windows by Hopper's warpgroups, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups._base import Warpgroups
from rooftile.strategies.gpu import GRADIENTS, PLACES


class WarpgroupsFp16(Warpgroups):
    """Gradients and weights rounded to float16, sums in float32."""

    name = "warpgroups_fp16"
    precision = "fp16"
    narrow = "fp16"
    between = (PLACES, GRADIENTS)
    summary = "whole windows by warpgroups, in whose registers they are summed, in float16"


STRATEGY = WarpgroupsFp16()
