"""`mma_tf32`: tensor cores on matrices as they lie, rounded to TF32 in registers."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.mma._base import Mma


class MmaTf32(Mma):
    """Both matrices rounded to TF32, sums in float32."""

    name = "mma_tf32"
    precision = "tf32"
    summary = "tensor cores, TF32 in registers, both matrices as they lie"


STRATEGY = MmaTf32()
