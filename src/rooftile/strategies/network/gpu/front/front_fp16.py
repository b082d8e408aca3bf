"""`front_fp16`: a network's first two blocks in one kernel, in float16."""

from __future__ import annotations

from rooftile.strategies.network.gpu.front._base import Front


class FrontFp16(Front):
    """float16 operands, sums in float32, results of the first block rounded."""

    name = "front_fp16"
    summary = "two blocks in one kernel, float16"
    precision = "fp16"
    narrow = "fp16"


STRATEGY = FrontFp16()
