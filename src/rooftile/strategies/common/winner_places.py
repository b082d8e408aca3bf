"""How the winners of a max-pool lie between the launches of a training step."""

from __future__ import annotations

import math

from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import GRADIENTS, PLACES, Config

_TOGETHER = 4
"""As many bytes are the least that a copy brings."""


def ragged(layer: Conv2d, config: Config) -> str | None:
    """Why places of 8 bits, or gradients of 16, cannot be copied four together; None where they
    can, or have 32."""
    count = math.prod(layer.output_size)
    if (config.get(PLACES) or config.get(GRADIENTS)) and count % _TOGETHER:
        return f"{count} places or gradients of less than 32 bits are no whole fours"
    return None
