"""`front_bf16`: a network's first two blocks in one kernel, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.network.gpu.front._base import Front


class FrontBf16(Front):
    """bfloat16 operands, sums in float32, results of the first block rounded."""

    name = "front_bf16"
    summary = "two blocks in one kernel, bfloat16"
    precision = "bf16"
    narrow = "bf16"


STRATEGY = FrontBf16()
