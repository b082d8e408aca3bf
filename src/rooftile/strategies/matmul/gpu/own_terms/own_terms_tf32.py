"""`own_terms_tf32`: every warp terms of its own on tensor cores, rounded to TF32."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.own_terms._base import OwnTerms


class OwnTermsTf32(OwnTerms):
    """Both matrices rounded to TF32, sums in float32."""

    name = "own_terms_tf32"
    precision = "tf32"
    summary = "small tiles on tensor cores, a warp its own terms, TF32 from memory to registers"


STRATEGY = OwnTermsTf32()
