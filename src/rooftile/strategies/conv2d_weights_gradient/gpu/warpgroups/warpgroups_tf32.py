"""Rung 12, `warpgroups_tf32`: correlation of images with winners on warpgroups, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.warpgroups._base import Warpgroups


class WarpgroupsTf32(Warpgroups):
    """Gradients and pixels rounded to TF32, sums in float32."""

    name = "warpgroups_tf32"
    order = 12
    precision = "tf32"
    pays_from = 192
    summary = "winners by rows of positions on warpgroups, gradients and pixels in TF32"


STRATEGY = WarpgroupsTf32()
