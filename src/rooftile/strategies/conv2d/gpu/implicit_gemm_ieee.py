"""Rung 33, `implicit_gemm_ieee`: Hopper's implicit matrix product with float32's error."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu._implicit_gemm import ImplicitGemm


class ImplicitGemmIeee(ImplicitGemm):
    """Each number in two parts of TF32, three products for one, short sums in the cores."""

    name = "implicit_gemm_ieee"
    order = 33
    summary = "an implicit matrix product on warpgroups, float32 as two parts of TF32"


STRATEGY = ImplicitGemmIeee()
