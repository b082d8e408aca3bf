"""`mma_fp16`: tensor cores on matrices as they lie, rounded to float16 in registers."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.mma._base import Mma


class MmaFp16(Mma):
    """Both matrices rounded to float16, sums in float32."""

    name = "mma_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = "tensor cores, float16 in registers, both matrices as they lie"


STRATEGY = MmaFp16()
