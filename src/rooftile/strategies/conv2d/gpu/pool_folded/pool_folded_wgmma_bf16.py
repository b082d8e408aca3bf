"""`pool_folded_wgmma_bf16`: the same on Hopper's warpgroup products."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pool_folded._warpgroups import WarpgroupsFolded


class PoolFoldedWgmmaBf16(WarpgroupsFolded):
    """Weights in shared memory, sums of all maps in a warp's registers; bfloat16."""

    name = "pool_folded_wgmma_bf16"
    precision = narrow = "bf16"
    summary = "its products by warpgroups, weights in shared memory, inputs in bfloat16"


STRATEGY = PoolFoldedWgmmaBf16()
