"""Rung 10, `dia`: a thread a row, diagonals without indices.

Source: Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC 2009.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops.spmv import Spmv
from rooftile.strategies.spmv.gpu._base import RowSpmv


class Dia(RowSpmv):
    """Results are the same in every run."""

    name = "dia"
    order = 10
    summary = "a thread a row, diagonals without indices"
    form = "dia"

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """Also the columns, and the diagonals."""
        return (*super().numbers(problem), np.int64(problem.columns), problem.width)


STRATEGY = Dia()
