"""`own_terms_bf16`: every warp terms of its own on tensor cores, rounded to bfloat16."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.own_terms._base import OwnTerms


class OwnTermsBf16(OwnTerms):
    """Both matrices rounded to bfloat16, sums in float32."""

    name = "own_terms_bf16"
    precision = "bf16"
    narrow = "bf16"
    summary = "small tiles on tensor cores, a warp its own terms, bfloat16 from memory to registers"


STRATEGY = OwnTermsBf16()
