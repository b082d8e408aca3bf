"""Rung 8, `jds`: a thread a row, in the order of the rows' lengths.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
"""

from __future__ import annotations

from rooftile.strategies.spmv.gpu._base import RowSpmv


class Jds(RowSpmv):
    """Results are the same in every run."""

    name = "jds"
    order = 8
    summary = "a thread a row, in the order of the rows' lengths"
    form = "jds"


STRATEGY = Jds()
