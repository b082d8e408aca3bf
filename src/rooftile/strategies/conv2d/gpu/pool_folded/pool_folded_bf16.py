"""`pool_folded_bf16`: the pool's positions as columns of a product on tensor cores."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pool_folded._narrow import NarrowFolded


class PoolFoldedBf16(NarrowFolded):
    """Inputs and weights rounded to bfloat16, sums in float32."""

    name = "pool_folded_bf16"
    precision = narrow = "bf16"
    summary = "pool positions as columns of a tensor-core product, inputs in bfloat16"


STRATEGY = PoolFoldedBf16()
