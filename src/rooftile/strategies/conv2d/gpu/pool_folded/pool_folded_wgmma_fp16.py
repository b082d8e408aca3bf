"""`pool_folded_wgmma_fp16`: the same on Hopper's warpgroup products."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pool_folded._warpgroups import WarpgroupsFolded


class PoolFoldedWgmmaFp16(WarpgroupsFolded):
    """Weights in shared memory, sums of all maps in a warp's registers; float16."""

    name = "pool_folded_wgmma_fp16"
    precision = narrow = "fp16"
    summary = "its products by warpgroups, weights in shared memory, inputs in float16"


STRATEGY = PoolFoldedWgmmaFp16()
