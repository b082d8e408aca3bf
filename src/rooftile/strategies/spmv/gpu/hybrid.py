"""`hybrid`: ELL for what many rows have, COO for what is left.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.spmv.gpu._base import SPAN, MergedSpmv, index_words


class Hybrid(MergedSpmv):
    """Takes the hybrid format; the tail is summed as `coo_segments` sums, not by atomics."""

    name = "hybrid"
    summary = "padded rows column by column, and a tail by segments"
    takes = features("dtype:* form:hybrid index:int64 updated")
    form = "hybrid"
    adds = 1

    def merged_entries(self, problem: Spmv) -> int:
        """Entries of the tail."""
        return problem.tail

    def workspace(self, problem: Spmv, config: Config) -> dict[str, int]:
        """Also where rows begin in the tail."""
        return {
            **super().workspace(problem, config),
            "row_offsets": index_words(problem, problem.rows + 1),
        }

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        """The padded rows, and the tail's sums on top of theirs."""
        launch = Launch(self.kernel(), (blocks(problem.rows, SPAN), 1, 1), (SPAN, 1, 1))
        arrays = ("values", "column_index", "x", "y")
        merged = self.merged_steps(problem, config, "tail_values", "tail_columns", "row_offsets")
        return (
            Step(launch, (*arrays, np.int64(problem.rows), problem.width)),
            self.row_starts(problem, "tail_rows"),
            *merged,
        )


STRATEGY = Hybrid()
