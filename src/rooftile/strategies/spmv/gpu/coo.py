"""Rungs that read COO. Source: PMPP, chapter 14; Bell and Garland, "Implementing Sparse
Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009; Merrill and Garland,
"Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.spmv.gpu._base import MergedSpmv, ScatterSpmv, index_words


class CooAtomic(ScatterSpmv):
    """The last bits differ from run to run."""

    name = "coo_atomic"
    summary = "a thread an entry, added by an atomic"
    form = "coo"

    def threads(self, problem: Spmv) -> int:
        return problem.entries


class CooSegments(MergedSpmv):
    """Takes COO whose entries lie in the order of their rows, as a `Spmv` has them."""

    name = "coo_segments"
    summary = "entries in the order of their rows, reduced by segments"
    takes = features("dtype:* form:coo index:int64 updated")
    form = "coo"

    def workspace(self, problem: Spmv, config: Config) -> dict[str, int]:
        return {
            **super().workspace(problem, config),
            "row_offsets": index_words(problem, problem.rows + 1),
        }

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        merged = self.merged_steps(problem, config, "values", "column_index", "row_offsets")
        return (self.row_starts(problem, "row_index"), *merged)


STRATEGIES = (CooAtomic(), CooSegments())
