"""Rung 24, `pool_folded_wgmma_tf32`: the same on Hopper's warpgroup products."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._pool_folded_float import (
    BAND_TUNABLES,
    WARPGROUPS,
    FloatFolded,
)
from rooftile.strategies.gpu import Tunable


class PoolFoldedWgmmaTf32(FloatFolded):
    """Weights in shared memory, patches and sums of all maps in a warp's registers."""

    name = "pool_folded_wgmma_tf32"
    precision = "tf32"
    order = 24
    wgmma = True
    most_slabs = 24
    architectures = ("sm_90",)
    summary = "its products by warpgroups that have bands of their own, inputs in TF32"
    tunables = (
        *BAND_TUNABLES,
        WARPGROUPS,
        Tunable("RUN", (0, 1, 2, 4), 4),
        Tunable("AHEAD", (0, 1), 0),
    )


STRATEGY = PoolFoldedWgmmaTf32()
