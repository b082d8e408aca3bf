"""Rungs that read CSC, and blocks of BSR.

Source: PMPP, chapter 14; Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on
Throughput-Oriented Processors", SC 2009.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.spmv.gpu._base import RowSpmv, ScatterSpmv


class Csc(ScatterSpmv):
    """The last bits differ from run to run."""

    name = "csc"
    summary = "a thread a column, its entries added by atomics"
    takes = features("dtype:* form:csc index:int64 updated")
    form = "csc"

    def threads(self, problem: Spmv) -> int:
        return problem.columns


class Bsr(RowSpmv):
    """Results are the same in every run."""

    name = "bsr"
    summary = "a thread a row of dense blocks"
    takes = features("dtype:* form:bsr index:int64 updated")
    form = "bsr"

    def macros(self, problem: Spmv, config: Config) -> dict[str, int | str]:
        whole = int(problem.columns % problem.block == 0)
        return {**super().macros(problem, config), "SIDE": problem.block, "WHOLE": whole}

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """Rows and columns."""
        return np.int64(problem.rows), np.int64(problem.columns)


STRATEGIES = (Csc(), Bsr())
