"""`turned` of images in float16 at the precision TF32, as training has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.ops.features import features
from rooftile.strategies.conv2d_weights_gradient.gpu._base import GpuWeightsGradient
from rooftile.strategies.conv2d_weights_gradient.gpu.turned.turned import Turned


class TurnedTf32InFloat16(Turned):
    """TF32 by float16's instructions: x is stored as float16, gradients are scaled to its range."""

    name = "turned_tf32_in_fp16"
    multiplied = "fp16"
    precision = "tf32"
    narrow = "fp16"
    scaled = 1
    stores: ClassVar[Mapping[str, str]] = {**GpuWeightsGradient.stores, "X_NARROW": "x:narrow"}
    requires = features("storage:x:float16")


STRATEGY = TurnedTf32InFloat16()
