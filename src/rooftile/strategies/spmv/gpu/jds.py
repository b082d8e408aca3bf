"""Rungs that read JDS, by rows and transposed. Source: PMPP, chapter 14."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.spmv.gpu._accesses import only, per_row, per_warp, row_apart, side_by_side
from rooftile.strategies.spmv.gpu._base import RowSpmv


class Jds(RowSpmv):
    """Results are the same in every run."""

    name = "jds"
    summary = "a thread a row, in the order of the rows' lengths"
    takes = features("dtype:* form:jds index:int64 updated")
    form = "jds"

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        return only(self.kernel(), problem, row_apart(problem) + per_row(problem))


class JdsT(RowSpmv):
    """Results are the same in every run."""

    name = "jds_t"
    summary = "a thread a row, the k-th entries of all rows side by side"
    takes = features("dtype:* form:jds_t index:int64 updated")
    form = "jds_t"

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """Also the sections."""
        return (*super().numbers(problem), problem.width)

    def accesses(self, problem: Spmv, config: Config) -> Mapping[str, Accesses]:
        found = side_by_side(problem, problem.entries) + per_row(problem)
        return only(self.kernel(), problem, found + per_warp(problem, problem.width + 1))


STRATEGIES = (Jds(), JdsT())
