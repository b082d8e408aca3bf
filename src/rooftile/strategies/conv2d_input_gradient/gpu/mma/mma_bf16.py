"""`mma_bf16`: transposed convolution of winners on tensor cores, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.gpu.mma._spread import Spread


class MmaBf16(Spread):
    """Gradients and weights rounded to bfloat16, sums in float32."""

    name = "mma_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = (
        "winners among zeros, pairs of pixels on tensor cores, gradients and weights in bfloat16"
    )


STRATEGY = MmaBf16()
