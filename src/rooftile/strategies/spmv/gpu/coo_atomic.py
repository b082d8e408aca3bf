"""`coo_atomic`: a thread an entry, added by an atomic.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 14.
"""

from __future__ import annotations

from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.gpu._base import ScatterSpmv


class CooAtomic(ScatterSpmv):
    """The last bits differ from run to run."""

    name = "coo_atomic"
    summary = "a thread an entry, added by an atomic"
    form = "coo"

    def threads(self, problem: Spmv) -> int:
        """Entries."""
        return problem.entries


STRATEGY = CooAtomic()
