"""`ell`: a thread a row of padded rows, column by column.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.spmv.gpu._accesses import only, side_by_side
from rooftile.strategies.spmv.gpu._base import RowSpmv

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


STRATEGY = Ell()
