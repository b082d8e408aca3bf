"""`warpgroups_tf32`: whole windows by Hopper's warpgroups, in TF32's bits."""

from __future__ import annotations

from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.conv2d_input_gradient.gpu.warpgroups._base import Warpgroups


class WarpgroupsTf32(Warpgroups):
    """Gradients and weights rounded to TF32, whose 11 bits scaled numbers of float16 have; sums in
    float32."""

    name = "warpgroups_tf32"
    precision = "tf32"
    scaled = True
    summary = "whole windows by warpgroups, TF32 as scaled float16, every other term skipped"

    @property
    def cores(self) -> Cores:
        """They multiply float16."""
        return CORES["fp16"]


STRATEGY = WarpgroupsTf32()
