"""`pool_folded_fp16`: the pool's positions as columns of a product on tensor cores."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pool_folded._narrow import NarrowFolded


class PoolFoldedFp16(NarrowFolded):
    """Inputs and weights rounded to float16, sums in float32."""

    name = "pool_folded_fp16"
    precision = narrow = "fp16"
    summary = "pool positions as columns of a tensor-core product, inputs in float16"


STRATEGY = PoolFoldedFp16()
