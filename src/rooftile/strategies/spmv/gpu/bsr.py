"""`bsr`: a thread a row of dense blocks. Source: Bell and Garland, "Implementing Sparse
Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009."""

from __future__ import annotations

import numpy as np

from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.spmv.gpu._base import RowSpmv


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


STRATEGY = Bsr()
