"""`loops`: one element after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.unique import Unique
from rooftile.strategies import HostStrategy
from rooftile.strategies.unique.cpu.two_pass import in_parts


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "unique"
    name = "loops"
    parallel = False
    summary = "one part, on one thread"
    takes = features("dtype:* runs")

    def prepare(
        self, problem: Unique, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return in_parts(problem, 1, 1)

    def accesses(self, problem: Unique) -> Counted:
        """Comparisons of two neighbours, twice: to count, and to move."""
        count, parts = problem.count, 1
        steps = -(-count // parts)
        return {
            "counts of parts": through(2 * count, parts, count, steps),
            "elements to their places": through(2 * count, count, count, steps),
        }


STRATEGY = Loops()
