"""`atomic`: every element that is kept takes the next place from one counter."""

from __future__ import annotations

from rooftile.analysis.accesses import Counted, stored_apart
from rooftile.analysis.cooperation import increments
from rooftile.ops.patterns.compact import Compact
from rooftile.strategies.compact.gpu._base import Counting
from rooftile.strategies.contract.gpu import Config


class Atomic(Counting):
    """Takes problems whose elements may come in any order."""

    name = "atomic"
    summary = "every element takes the next place from one counter; the order is lost"

    def accesses(self, problem: Compact, config: Config) -> Counted:
        """All elements that are kept take turns at one counter."""
        made = self.kept(problem, config) + increments(problem.count, 1, 1)
        return {self.kernel("clear"): stored_apart(1), self.kernel(): made}


STRATEGY = Atomic()
