"""`warpgroups_fp16`: Hopper's warpgroups, b laid in float16 before."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.warpgroups.warpgroups_fp16 import STRATEGY as LAYER
from rooftile.strategies.matmul.gpu.warpgroups._base import Warpgroups


class WarpgroupsFp16(Warpgroups):
    """Both matrices rounded to float16, sums in float32."""

    name = "warpgroups_fp16"
    source = "warpgroups"
    precision = "fp16"
    layer = LAYER
    tunables = LAYER.tunables
    summary = "Hopper's warpgroups, b turned and rounded to float16 in one pass before"


STRATEGY = WarpgroupsFp16()
