"""`mma_bf16`: the matrix product on tensor cores, inputs in bfloat16."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.mma._base import Mma


class MmaBf16(Mma):
    """Inputs and weights rounded to bfloat16, sums in float32."""

    name = "mma_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = "tensor cores, converted in registers to bfloat16"


STRATEGY = MmaBf16()
