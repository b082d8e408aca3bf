"""`pointwise_ieee`: masks of one tap on tensor cores, with float32's error.

Source: Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
Higher-Precision Computations", ARITH 2019.
"""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.conv2d.gpu.pointwise._base import Pointwise


class PointwiseIeee(Pointwise):
    """A number is split in three of bfloat16, which have its range and together its bits."""

    name = "pointwise_ieee"
    numbers = 3
    summary = "masks of one tap as a matrix product, float32 as three numbers of bfloat16"

    def limits(self, problem: Conv2d) -> str | None:
        """What the others refuse, and short sums: their budgets have no room for what the cores cut
        off."""
        return too_short(problem.reduction) or super().limits(problem)

    @property
    def cores(self) -> Cores:
        """They multiply bfloat16."""
        return CORES["bf16"]


STRATEGY = PointwiseIeee()
