"""`mma_fp16`: transposed convolution of winners on tensor cores, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.gpu.mma._spread import Spread


class MmaFp16(Spread):
    """Gradients and weights rounded to float16, sums in float32."""

    name = "mma_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = (
        "winners among zeros, pairs of pixels on tensor cores, gradients and weights in float16"
    )


STRATEGY = MmaFp16()
