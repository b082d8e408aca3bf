"""`mma_tf32`: correlation of images with winners on tensor cores, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.mma._base import Mma


class MmaTf32(Mma):
    """Gradients and pixels rounded to TF32, sums in float32."""

    name = "mma_tf32"
    precision = "tf32"
    narrow = "fp16"
    pays_from = 80_000_000
    summary = "winners by cells on tensor cores, gradients and pixels in TF32"


STRATEGY = MmaTf32()
