"""A thread a result, and the entries of a row in shared memory. Source: Yang, Buluç, Owens, "Design
Principles for Sparse Matrix Multiplication on the GPU", Euro- Par 2018 (row splitting)."""

from __future__ import annotations

from rooftile.ops.sparse.spmm import Spmm
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.spmm.gpu._base import GpuSpmm


class Naive(GpuSpmm):
    """Results are the same in every run."""

    name = "naive"
    summary = "a thread an element of the result"


class Staged(GpuSpmm):
    """Results are the same in every run."""

    name = "staged"
    summary = "a row's entries through shared memory, several columns a thread"
    tunables = (*GpuSpmm.tunables, Tunable("COLUMNS", (1, 2, 4), 1))

    def defaults(self, problem: Spmm) -> dict[str, int]:
        """As many columns a thread as b has for a warp's threads, up to four."""
        made = super().defaults(problem)
        each = blocks(problem.width, made["ACROSS"])
        return {**made, "COLUMNS": 4 if each > 2 else each}


STRATEGIES = (Naive(), Staged())
