"""Rungs that read ELL, and ELL with the rest in COO. Source: Bell and Garland, "Implementing Sparse
Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.spmv.gpu._accesses import only, side_by_side
from rooftile.strategies.spmv.gpu._base import SPAN, MergedSpmv, RowSpmv, index_words

AT_ONCE = 4
"""Places that a thread loads at once, see ``ell.h``."""


class Ell(RowSpmv):
    """Results are the same in every run."""

    name = "ell"
    summary = "a thread a row of padded rows, column by column"
    takes = features("dtype:* form:ell index:int64 updated")
    form = "ell"

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """Also the padded length."""
        return (*super().numbers(problem), problem.width)

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        # Behind the last place of a row it is looked at again.
        places = problem.rows * AT_ONCE * blocks(problem.width, AT_ONCE)
        return only(self.kernel(), problem, side_by_side(problem, places))


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
        return {
            **super().workspace(problem, config),
            "row_offsets": index_words(problem, problem.rows + 1),
        }

    def steps(self, problem: Spmv, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), (blocks(problem.rows, SPAN), 1, 1), (SPAN, 1, 1))
        arrays = ("values", "column_index", "x", "y")
        merged = self.merged_steps(problem, config, "tail_values", "tail_columns", "row_offsets")
        return (
            Step(launch, (*arrays, np.int64(problem.rows), problem.width)),
            self.row_starts(problem, "tail_rows"),
            *merged,
        )


STRATEGIES = (Ell(), Hybrid())
