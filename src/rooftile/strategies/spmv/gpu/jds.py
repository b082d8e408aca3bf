"""`jds`: a thread a row, in the order of the rows' lengths.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.analysis.accesses import Accesses
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.spmv.gpu._accesses import only, per_row, row_apart
from rooftile.strategies.spmv.gpu._base import RowSpmv


class Jds(RowSpmv):
    """Results are the same in every run."""

    name = "jds"
    summary = "a thread a row, in the order of the rows' lengths"
    takes = features("dtype:* form:jds index:int64 updated")
    form = "jds"

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        return only(self.kernel(), problem, row_apart(problem) + per_row(problem))


STRATEGY = Jds()
