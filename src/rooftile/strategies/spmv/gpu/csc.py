"""`csc`: a thread a column, its entries added by atomics. Source: PMPP, chapter 14."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.gpu._base import ScatterSpmv


class Csc(ScatterSpmv):
    """The last bits differ from run to run."""

    name = "csc"
    summary = "a thread a column, its entries added by atomics"
    takes = features("dtype:* form:csc index:int64 updated")
    form = "csc"

    def threads(self, problem: Spmv) -> int:
        return problem.columns


STRATEGY = Csc()
