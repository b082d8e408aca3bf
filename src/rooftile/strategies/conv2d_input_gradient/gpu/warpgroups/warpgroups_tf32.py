"""Rung 9, `warpgroups_tf32`: whole windows by Hopper's warpgroups, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups._base import Warpgroups


class WarpgroupsTf32(Warpgroups):
    """Gradients and weights rounded to TF32, sums in float32."""

    name = "warpgroups_tf32"
    order = 9
    precision = "tf32"
    summary = "whole windows by warpgroups, in whose registers they are summed, in TF32"


STRATEGY = WarpgroupsTf32()
