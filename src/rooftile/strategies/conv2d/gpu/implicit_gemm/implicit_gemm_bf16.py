"""`implicit_gemm_bf16`: Hopper's implicit matrix product, inputs in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.implicit_gemm._base import ImplicitGemm


class ImplicitGemmBf16(ImplicitGemm):
    """Inputs and weights rounded to bfloat16, sums in float32."""

    name = "implicit_gemm_bf16"
    precision = narrow = "bf16"
    summary = "an implicit matrix product on warpgroups, patches by bulk copies, in bfloat16"


STRATEGY = ImplicitGemmBf16()
