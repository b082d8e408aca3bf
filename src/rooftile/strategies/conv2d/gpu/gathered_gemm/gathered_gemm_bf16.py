"""`gathered_gemm_bf16`: few channels on tensor cores, in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.gathered_gemm._base import GatheredGemm


class GatheredGemmBf16(GatheredGemm):
    """Inputs and weights rounded to bfloat16, sums in float32."""

    name = "gathered_gemm_bf16"
    precision = narrow = "bf16"
    summary = "a matrix product gathered from a tile, for few channels, in bfloat16"


STRATEGY = GatheredGemmBf16()
