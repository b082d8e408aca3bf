"""`threads`: rows shared out over the cores, each row's sum in the compiler's vectors.

What it removes: idle cores, and additions that wait for each other.  A long row still keeps one
core at work.
"""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.strategies.spmv.cpu._base import RowSpmv


class Threads(RowSpmv):
    """Takes every format that says which entries a row has."""

    name = "threads"
    summary = "rows shared out over the cores"
    takes = features("dtype:* form:bsr,coo,dia,ell,hybrid,jds,jds_t index:int64 updated")
    forms = ("csr", "coo", "ell", "hybrid", "jds", "jds_t", "dia", "bsr")
    flags = "reassoc contract"


STRATEGY = Threads()
