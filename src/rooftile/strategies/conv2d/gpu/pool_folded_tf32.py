"""Rung 23, `pool_folded_tf32`: the pool's positions as columns of a product in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._pool_folded_float import BAND_TUNABLES, FloatFolded
from rooftile.strategies.gpu import Tunable


class PoolFoldedTf32(FloatFolded):
    """Weights and patches in registers: few channels."""

    name = "pool_folded_tf32"
    precision = "tf32"
    order = 23
    most_slabs = 12
    summary = "pool positions as columns of a tensor-core product, inputs in TF32"
    tunables = (
        *BAND_TUNABLES,
        Tunable("WARPS", (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16), 4),
        Tunable("BLOCK_BANDS", (1, 2, 4, 8, 16), 1),
        Tunable("AHEAD", (0, 1), 0),
        Tunable("CHAINS", (1, 2, 4), 1),
    )


STRATEGY = PoolFoldedTf32()
