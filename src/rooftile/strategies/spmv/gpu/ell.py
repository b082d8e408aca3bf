"""Rung 6, `ell`: a thread a row of padded rows, column by column.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops.spmv import Spmv
from rooftile.strategies.spmv.gpu._base import RowSpmv


class Ell(RowSpmv):
    """Results are the same in every run."""

    name = "ell"
    order = 6
    summary = "a thread a row of padded rows, column by column"
    form = "ell"

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """Also the padded length."""
        return (*super().numbers(problem), problem.width)


STRATEGY = Ell()
