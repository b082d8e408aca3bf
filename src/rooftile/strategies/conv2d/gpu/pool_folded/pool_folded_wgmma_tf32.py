"""`pool_folded_wgmma_tf32`: the same in TF32."""

from __future__ import annotations

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d.gpu.pool_folded._split import ScaledFolded
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_wgmma import WarpgroupsFolded


class PoolFoldedWgmmaTf32(ScaledFolded, WarpgroupsFolded):
    """TF32's numbers in float16, which has their bits: bands and maps' weights are scaled into its
    range."""

    name = "pool_folded_wgmma_tf32"
    precision = "tf32"
    most_slabs = 24
    most_groups = 8
    summary = "its products by warpgroups, TF32 as scaled numbers of float16"

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        return np.concatenate([super().pack(problem, weights, config), weights.ravel()])


STRATEGY = PoolFoldedWgmmaTf32()
