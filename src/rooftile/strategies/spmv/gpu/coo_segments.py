"""`coo_segments`: entries in the order of their rows, reduced by segments.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009; Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector
Multiplication", SC 2016.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.spmv.gpu._base import MergedSpmv, index_words


class CooSegments(MergedSpmv):
    """Takes COO whose entries lie in the order of their rows, as a `Spmv` has them."""

    name = "coo_segments"
    summary = "entries in the order of their rows, reduced by segments"
    takes = features("dtype:* form:coo index:int64 updated")
    form = "coo"

    def workspace(self, problem: Spmv, config: Config) -> dict[str, int]:
        """Also where rows begin."""
        return {
            **super().workspace(problem, config),
            "row_offsets": index_words(problem, problem.rows + 1),
        }

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        """The search of rows' first entries, and then as `csr_merge`."""
        merged = self.merged_steps(problem, config, "values", "column_index", "row_offsets")
        return (self.row_starts(problem, "row_index"), *merged)


STRATEGY = CooSegments()
