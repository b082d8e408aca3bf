"""`mma_ieee`: tensor cores on matrices as they lie, with float32's error.

Source: Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
Higher-Precision Computations", ARITH 2019.
"""

from __future__ import annotations

from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.matmul.gpu._base import few_terms
from rooftile.strategies.matmul.gpu.mma._base import Mma


class MmaIeee(Mma):
    """A number is split in three of bfloat16, which have its range and together its bits."""

    name = "mma_ieee"
    numbers = 3
    summary = "tensor cores, float32 as three numbers of bfloat16, both matrices as they lie"

    def limits(self, problem: Matmul) -> str | None:
        """Short sums: their budgets have no room for what the cores cut off."""
        return too_short(problem.reduction) or super().limits(problem)

    def why_slow(self, problem: Matmul) -> str | None:
        """Few products of few terms: there are few of its tiles."""
        return few_terms(problem)

    @property
    def cores(self) -> Cores:
        """They multiply bfloat16."""
        return CORES["bf16"]

    def _too_long(self, problem: Matmul, parts: int, size: int = 4) -> str | None:
        """No sum is too long: the cores sum up a few terms at a time."""
        return None


STRATEGY = MmaIeee()
