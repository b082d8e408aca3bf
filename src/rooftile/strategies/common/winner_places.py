"""The storage of a max-pool's argmax between the launches of a training step."""

from __future__ import annotations

import math
from typing import Any

from rooftile.strategies.common.storage import is_narrow

_TOGETHER = 4
"""The least bytes of a copy."""


def ragged(problem: Any) -> str | None:
    """Why places of 8 bits, or gradients of 16, cannot be copied four together; None where they
    can, or have 32."""
    count = math.prod(problem.layer.output_size)
    narrow = is_narrow(problem, "where") or is_narrow(problem, "dy")
    if narrow and count % _TOGETHER:
        return f"{count} places or gradients of less than 32 bits are no whole fours"
    return None
