"""`gathered_gemm_tf32`: few channels on tensor cores, in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.gathered_gemm._base import GatheredGemm


class GatheredGemmTf32(GatheredGemm):
    """Inputs and weights rounded to TF32, sums in float32."""

    name = "gathered_gemm_tf32"
    precision = "tf32"
    summary = "a matrix product gathered from a tile, for few channels, in TF32"


STRATEGY = GatheredGemmTf32()
