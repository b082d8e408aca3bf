"""`pointwise_tf32`: masks of one tap on tensor cores, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.pointwise._base import Pointwise


class PointwiseTf32(Pointwise):
    """Inputs and weights rounded to TF32, sums in float32."""

    name = "pointwise_tf32"
    precision = "tf32"
    summary = "masks of one tap as a matrix product of images as they lie, in TF32"


STRATEGY = PointwiseTf32()
