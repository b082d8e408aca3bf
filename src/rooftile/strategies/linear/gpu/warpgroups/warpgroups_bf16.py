"""`warpgroups_bf16`: the matrix product on warpgroups, inputs in bfloat16."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.warpgroups._base import Warpgroups


class WarpgroupsBf16(Warpgroups):
    """Inputs and weights rounded to bfloat16, sums in float32."""

    name = "warpgroups_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = "Hopper's warpgroups, converted in registers to bfloat16"


STRATEGY = WarpgroupsBf16()
