"""`pointwise_bf16`: masks of one tap on tensor cores, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pointwise._base import Pointwise


class PointwiseBf16(Pointwise):
    """Inputs and weights rounded to bfloat16, sums in float32."""

    name = "pointwise_bf16"
    precision = narrow = "bf16"
    summary = "masks of one tap as a matrix product of images as they lie, in bfloat16"


STRATEGY = PointwiseBf16()
