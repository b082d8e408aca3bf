"""`warpgroups_bf16`: correlation of images with winners on warpgroups, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.warpgroups._base import Warpgroups
from rooftile.strategies.gpu import GRADIENTS, PLACES


class WarpgroupsBf16(Warpgroups):
    """Gradients and pixels rounded to bfloat16, sums in float32."""

    name = "warpgroups_bf16"
    precision = "bf16"
    narrow = "bf16"
    between = (PLACES, GRADIENTS)
    summary = "winners by rows of positions on warpgroups, gradients and pixels in bfloat16"


STRATEGY = WarpgroupsBf16()
