"""`warpgroups_fp16`: correlation of images with winners on warpgroups, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.warpgroups._base import Warpgroups
from rooftile.strategies.gpu import GRADIENTS, PLACES


class WarpgroupsFp16(Warpgroups):
    """Gradients and pixels rounded to float16, sums in float32."""

    name = "warpgroups_fp16"
    precision = "fp16"
    narrow = "fp16"
    between = (PLACES, GRADIENTS)
    summary = "winners by rows of positions on warpgroups, gradients and pixels in float16"


STRATEGY = WarpgroupsFp16()
