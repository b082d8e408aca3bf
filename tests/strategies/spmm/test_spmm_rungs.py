"""Every rung of `spmm`: few and many columns, all numbers and indices."""

from __future__ import annotations

from rooftile.ops.sparse.spmm import Spmm
from tests.support.every_rung import EveryRung, Wrong

MANY = Spmm(61, 50, 700, 150, "float16", "int64")


class TestRungs(EveryRung):
    problems = (MANY, Spmm(70, 50, 400, 5, "float64"), Spmm(101, 57, 900, 37))
    near = (Spmm(30, 50, 100, 8),)
    wrong = Wrong(
        Spmm(61, 50, 700, 37),
        ("naive", "row_offsets[row + 1]", "row_offsets[row + 1] - 1"),
        ("staged", "done < longest", "done < ACROSS"),
    )
