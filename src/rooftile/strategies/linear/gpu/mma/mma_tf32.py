"""`mma_tf32`: the matrix product on tensor cores, inputs in TF32."""

from __future__ import annotations

from rooftile.strategies.linear.gpu.mma._base import Mma


class MmaTf32(Mma):
    """Inputs and weights rounded to TF32, sums in float32."""

    name = "mma_tf32"
    precision = "tf32"
    summary = "tensor cores, rounded in registers to TF32"


STRATEGY = MmaTf32()
