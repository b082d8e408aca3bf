"""`warpgroups_bf16`: whole windows by Hopper's warpgroups, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups._base import Warpgroups
from rooftile.strategies.gpu import GRADIENTS, PLACES


class WarpgroupsBf16(Warpgroups):
    """Gradients and weights rounded to bfloat16, sums in float32."""

    name = "warpgroups_bf16"
    precision = "bf16"
    narrow = "bf16"
    between = (PLACES, GRADIENTS)
    summary = "whole windows by warpgroups, in whose registers they are summed, in bfloat16"


STRATEGY = WarpgroupsBf16()
