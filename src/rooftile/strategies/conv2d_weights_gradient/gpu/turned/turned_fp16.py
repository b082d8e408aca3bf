"""`turned_fp16`: pixels as rows, winners of few maps as columns, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.turned._base import Turned


class TurnedFp16(Turned):
    """Gradients and pixels rounded to float16, sums in float32."""

    name = "turned_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = "pixels as rows on tensor cores, which all windows above share, in float16"


STRATEGY = TurnedFp16()
