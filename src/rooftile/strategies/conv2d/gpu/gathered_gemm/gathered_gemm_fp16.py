"""`gathered_gemm_fp16`: few channels on tensor cores, in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.gathered_gemm._base import GatheredGemm


class GatheredGemmFp16(GatheredGemm):
    """Inputs and weights rounded to float16, sums in float32."""

    name = "gathered_gemm_fp16"
    precision = narrow = "fp16"
    summary = "a matrix product gathered from a tile, for few channels, in float16"


STRATEGY = GatheredGemmFp16()
