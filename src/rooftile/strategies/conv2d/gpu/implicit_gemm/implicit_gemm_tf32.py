"""`implicit_gemm_tf32`: Hopper's implicit matrix product, inputs in TF32."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.implicit_gemm._base import ImplicitGemm


class ImplicitGemmTf32(ImplicitGemm):
    """Inputs and weights rounded to TF32, sums in float32."""

    name = "implicit_gemm_tf32"
    precision = "tf32"
    summary = "an implicit matrix product on warpgroups, patches by bulk copies, in TF32"


STRATEGY = ImplicitGemmTf32()
