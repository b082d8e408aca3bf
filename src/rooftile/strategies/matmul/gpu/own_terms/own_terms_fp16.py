"""`own_terms_fp16`: every warp terms of its own on tensor cores, rounded to float16."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.own_terms._base import OwnTerms


class OwnTermsFp16(OwnTerms):
    """Both matrices rounded to float16, sums in float32."""

    name = "own_terms_fp16"
    precision = "fp16"
    narrow = "fp16"
    summary = "small tiles on tensor cores, a warp its own terms, float16 from memory to registers"


STRATEGY = OwnTermsFp16()
