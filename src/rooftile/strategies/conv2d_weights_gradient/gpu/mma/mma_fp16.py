"""`mma_fp16`: correlation of images with winners on tensor cores, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.mma._base import Mma
from rooftile.strategies.gpu import GRADIENTS, PLACES


class MmaFp16(Mma):
    """Gradients and pixels rounded to float16, sums in float32."""

    name = "mma_fp16"
    precision = "fp16"
    narrow = "fp16"
    between = (PLACES, GRADIENTS)
    summary = "winners by cells on tensor cores, gradients and pixels in float16"


STRATEGY = MmaFp16()
