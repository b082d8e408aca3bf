"""`gathered_gemm_ieee`: few channels on tensor cores, with float32's error."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.conv2d.gpu.gathered_gemm._base import GatheredGemm


class GatheredGemmIeee(GatheredGemm):
    """A number is split in two of TF32, and three products stand for one."""

    name = "gathered_gemm_ieee"
    numbers = 2
    summary = "a matrix product gathered from a tile, for few channels, float32 as two of TF32"

    def limits(self, problem: Conv2d) -> str | None:
        """What the others refuse, and short sums: their budgets have no room for the split's
        error."""
        return too_short(problem.reduction) or super().limits(problem)


STRATEGY = GatheredGemmIeee()
