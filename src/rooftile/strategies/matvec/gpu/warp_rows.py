"""Rung 5, `warp_rows`: a team of threads a row, joined by a tree.

Source: Bell, Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC09 (a warp a row), on a dense matrix.
"""

from __future__ import annotations

from rooftile.ops.matvec import Matvec
from rooftile.strategies.matvec.gpu._base import FewRowsMatvec, as_product


class WarpRows(FewRowsMatvec):
    """See `rooftile.strategies.matmul.gpu.few_rows`."""

    name = "warp_rows"
    order = 5
    summary = "a team of threads a row, joined by a tree"

    def why_not(self, problem: Matvec) -> str | None:
        """A matrix that lies the other way."""
        if problem.transpose:
            return "its rows do not lie beside each other: a lies transposed"
        return self.rung.why_not(as_product(problem))


STRATEGY = WarpRows()
