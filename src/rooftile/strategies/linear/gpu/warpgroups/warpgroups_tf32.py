"""`warpgroups_tf32`: the matrix product on warpgroups, inputs in TF32."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.warpgroups._base import Warpgroups


class WarpgroupsTf32(Warpgroups):
    """Inputs and weights rounded to TF32, sums in float32."""

    name = "warpgroups_tf32"
    precision = "tf32"
    summary = "Hopper's warpgroups, converted in registers to TF32"


STRATEGY = WarpgroupsTf32()
