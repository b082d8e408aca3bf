"""`mma_fp16`: the matrix product on tensor cores, inputs in float16."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.mma._base import Mma


class MmaFp16(Mma):
    """Inputs and weights rounded to float16, sums in float32."""

    name = "mma_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = "tensor cores, converted in registers to float16"


STRATEGY = MmaFp16()
