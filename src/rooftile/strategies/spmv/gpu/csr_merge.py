"""`csr_merge`: every thread takes as many entries and ends of rows.

Source: Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from __future__ import annotations

from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.spmv.gpu._base import MergedSpmv


class CsrMerge(MergedSpmv):
    """Takes CSR."""

    name = "csr_merge"
    summary = "every thread takes as many entries and ends of rows"
    form = "csr"

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        return self.merged_steps(problem, config, "values", "column_index", "row_offsets")


STRATEGY = CsrMerge()
