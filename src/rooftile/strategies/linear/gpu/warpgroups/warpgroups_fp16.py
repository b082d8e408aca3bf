"""`warpgroups_fp16`: the matrix product on warpgroups, inputs in float16."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.warpgroups._base import Warpgroups


class WarpgroupsFp16(Warpgroups):
    """Inputs and weights rounded to float16, sums in float32."""

    name = "warpgroups_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = "Hopper's warpgroups, converted in registers to float16"


STRATEGY = WarpgroupsFp16()
