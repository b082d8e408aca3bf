"""`own_terms_ieee`: a warp its own terms on tensor cores, float32 as two of TF32."""

from __future__ import annotations

from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.matmul.gpu.own_terms._base import OwnTerms


class OwnTermsIeee(OwnTerms):
    """A number is split in two of TF32, which have its range and together 22 of its bits."""

    name = "own_terms_ieee"
    numbers = 2
    most_tiles = 3
    summary = "small tiles on tensor cores, a warp its own terms, float32 as two numbers of TF32"

    def limits(self, problem: Matmul) -> str | None:
        """Short sums: their budgets have no room for what the cores cut off."""
        return too_short(problem.reduction) or super().limits(problem)

    @property
    def cores(self) -> Cores:
        """They multiply TF32."""
        return CORES["tf32"]


STRATEGY = OwnTermsIeee()
