"""`bulk_fp16`: both matrices in float16 as they lie, products from shared memory."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.bulk._base import Bulk


class BulkFp16(Bulk):
    """Both matrices rounded to float16, sums in float32."""

    name = "bulk_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = "Hopper's warpgroups, both matrices in float16 as they lie, from shared memory"


STRATEGY = BulkFp16()
