"""`warpgroups_bf16`: Hopper's warpgroups, b laid in bfloat16 before."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.warpgroups.warpgroups_bf16 import STRATEGY as LAYER
from rooftile.strategies.matmul.gpu.warpgroups._base import Warpgroups


class WarpgroupsBf16(Warpgroups):
    """Both matrices rounded to bfloat16, sums in float32."""

    name = "warpgroups_bf16"
    source = "warpgroups"
    precision = "bf16"
    layer = LAYER
    tunables = LAYER.tunables
    summary = "Hopper's warpgroups, b turned and rounded to bfloat16 in one pass before"


STRATEGY = WarpgroupsBf16()
