"""`pointwise_fp16`: masks of one tap on tensor cores, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pointwise._base import Pointwise


class PointwiseFp16(Pointwise):
    """Inputs and weights rounded to float16, sums in float32."""

    name = "pointwise_fp16"
    precision = narrow = "fp16"
    summary = "masks of one tap as a matrix product of images as they lie, in float16"


STRATEGY = PointwiseFp16()
