"""`turned_bf16`: pixels as rows, winners of few maps as columns, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.turned._base import Turned


class TurnedBf16(Turned):
    """Gradients and pixels rounded to bfloat16, sums in float32."""

    name = "turned_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = "pixels as rows on tensor cores, which all windows above share, in bfloat16"


STRATEGY = TurnedBf16()
