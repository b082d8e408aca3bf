"""Rung 9, `jds_t`: a thread a row, the k-th entries of all rows side by side.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
"""

from __future__ import annotations

import numpy as np

from rooftile.ops.spmv import Spmv
from rooftile.strategies.spmv.gpu._base import RowSpmv


class JdsT(RowSpmv):
    """Results are the same in every run."""

    name = "jds_t"
    order = 9
    summary = "a thread a row, the k-th entries of all rows side by side"
    form = "jds_t"

    def numbers(self, problem: Spmv) -> tuple[int | np.int64, ...]:
        """Also the sections."""
        return (*super().numbers(problem), problem.width)


STRATEGY = JdsT()
