"""`mma_bf16`: tensor cores on matrices as they lie, rounded to bfloat16 in registers."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.mma._base import Mma


class MmaBf16(Mma):
    """Both matrices rounded to bfloat16, sums in float32."""

    name = "mma_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = "tensor cores, bfloat16 in registers, both matrices as they lie"


STRATEGY = MmaBf16()
