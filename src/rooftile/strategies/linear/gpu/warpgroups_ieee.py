"""Rung 17, `warpgroups_ieee`: the matrix product on warpgroups with float32's error."""

from __future__ import annotations

from rooftile.strategies.linear.gpu._warpgroups import Warpgroups


class WarpgroupsIeee(Warpgroups):
    """Each number in two parts of TF32, three products for one, short sums in the cores."""

    name = "warpgroups_ieee"
    order = 17
    summary = "Hopper's warpgroups, float32 as two parts of TF32"


STRATEGY = WarpgroupsIeee()
