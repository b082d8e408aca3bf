"""`turned_tf32`: pixels as rows, winners of few maps as columns, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d_weights_gradient.gpu.turned._base import Turned
from rooftile.strategies.gpu import PLACES


class TurnedTf32(Turned):
    """Gradients and pixels rounded to TF32, sums in float32."""

    name = "turned_tf32"
    precision = "tf32"
    between = (PLACES,)
    pays_from = 4096
    wishes = (
        {"BLOCKS": 4, "STAGES": 1},
        {"BLOCKS": 3, "STAGES": 1},
        {"BLOCKS": 2},
        {"BLOCKS": 2, "STAGES": 1},
    )
    """Images take twice the room: one stage of each block leaves some for more blocks."""
    summary = "pixels as rows on tensor cores, which all windows above share, in TF32"


STRATEGY = TurnedTf32()
