"""Rung 25, `pool_folded_wgmma_ieee`: the pool folded on warpgroups with float32's error."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._pool_folded_tf32 import (
    BAND_TUNABLES,
    WARPGROUPS,
    TensorFloatFolded,
)
from rooftile.strategies.gpu import Tunable


class PoolFoldedWgmmaIeee(TensorFloatFolded):
    """Each number in two parts of TF32, three products for one, short sums in the cores."""

    name = "pool_folded_wgmma_ieee"
    order = 25
    precision = "ieee"
    split = wgmma = True
    most_slabs = 64
    architectures = ("sm_90",)
    summary = "the same for float32 as two parts of TF32"
    tunables = (*BAND_TUNABLES, WARPGROUPS, Tunable("RUN", (1, 2, 4), 2))


STRATEGY = PoolFoldedWgmmaIeee()
