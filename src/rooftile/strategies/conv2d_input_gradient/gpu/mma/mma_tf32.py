"""Rung 5, `mma_tf32`: transposed convolution of winners on tensor cores, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d_input_gradient.gpu.mma._base import Mma


class MmaTf32(Mma):
    """Gradients and weights rounded to TF32, sums in float32."""

    name = "mma_tf32"
    order = 5
    precision = "tf32"
    pays_from = 256
    summary = "whole windows on tensor cores, gradients and weights in TF32"


STRATEGY = MmaTf32()
