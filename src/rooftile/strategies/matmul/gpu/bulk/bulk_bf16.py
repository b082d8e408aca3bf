"""`bulk_bf16`: both matrices in bfloat16 as they lie, products from shared memory."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.bulk._base import Bulk


class BulkBf16(Bulk):
    """Both matrices rounded to bfloat16, sums in float32."""

    name = "bulk_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = "Hopper's warpgroups, both matrices in bfloat16 as they lie, from shared memory"


STRATEGY = BulkBf16()
