"""`warpgroups_tf32`: correlation of images with winners on warpgroups, at TF32's error."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.warpgroups._base import Warpgroups


class WarpgroupsTf32(Warpgroups):
    """Gradients and pixels rounded to float16, of as many bits as TF32, and scaled; sums in
    float32."""

    name = "warpgroups_tf32"
    precision = "tf32"
    scaled = True
    pays_from = 192
    summary = "winners by rows of positions on warpgroups, gradients and pixels in scaled float16"


STRATEGY = WarpgroupsTf32()
