"""`implicit_gemm_fp16`: Hopper's implicit matrix product, inputs in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.implicit_gemm._base import ImplicitGemm


class ImplicitGemmFp16(ImplicitGemm):
    """Inputs and weights rounded to float16, sums in float32."""

    name = "implicit_gemm_fp16"
    precision = narrow = "fp16"
    summary = "an implicit matrix product on warpgroups, patches by bulk copies, in float16"


STRATEGY = ImplicitGemmFp16()
