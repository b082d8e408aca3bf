"""`mma_bf16`: correlation of images with winners on tensor cores, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.mma._base import Mma
from rooftile.strategies.gpu import GRADIENTS, PLACES


class MmaBf16(Mma):
    """Gradients and pixels rounded to bfloat16, sums in float32."""

    name = "mma_bf16"
    precision = "bf16"
    narrow = "bf16"
    between = (PLACES, GRADIENTS)
    summary = "winners by cells on tensor cores, gradients and pixels in bfloat16"


STRATEGY = MmaBf16()
