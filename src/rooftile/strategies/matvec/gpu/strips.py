"""`strips`: of a transposed matrix, strips of rows and parts of columns.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 6.3
(thread coarsening), on a vector.
"""

from __future__ import annotations

from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.matvec.gpu._base import FewRowsMatvec, as_product


class Strips(FewRowsMatvec):
    """See `rooftile.strategies.matmul.gpu.few_rows`."""

    name = "strips"
    summary = "of a transposed matrix, strips of rows and parts of columns"

    def limits(self, problem: Matvec) -> str | None:
        if not problem.transpose:
            return "a is not transposed: that is warp_rows"
        return self.rung.why_not(as_product(problem))


STRATEGY = Strips()
