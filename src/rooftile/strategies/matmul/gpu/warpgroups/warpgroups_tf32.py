"""`warpgroups_tf32`: Hopper's warpgroups, b laid in TF32 before."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.warpgroups.warpgroups_tf32 import STRATEGY as LAYER
from rooftile.strategies.matmul.gpu.warpgroups._base import Warpgroups


class WarpgroupsTf32(Warpgroups):
    """Both matrices rounded to TF32, sums in float32."""

    name = "warpgroups_tf32"
    source = "warpgroups"
    precision = "tf32"
    layer = LAYER
    tunables = LAYER.tunables
    summary = "Hopper's warpgroups, b turned and rounded to TF32 in one pass before"


STRATEGY = WarpgroupsTf32()
