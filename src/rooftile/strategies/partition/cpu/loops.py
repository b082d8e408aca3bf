"""`loops`: one element after the other, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.partition import Partition
from rooftile.strategies import HostStrategy
from rooftile.strategies.partition.cpu.two_pass import in_parts


class Loops(HostStrategy):
    """Takes every problem."""

    operation = "partition"
    name = "loops"
    parallel = False
    summary = "one part, on one thread"
    takes = features("dtype:*")

    def prepare(
        self, problem: Partition, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return in_parts(problem, 1, 1)

    def accesses(self, problem: Partition) -> Counted:
        """Comparisons of element and pivot, twice: to count, and to move."""
        count, parts = problem.count, 1
        steps = -(-count // parts)
        return {
            "counts of parts": through(count, parts, count, steps),
            "elements to their places": through(count, count, count, steps),
        }


STRATEGY = Loops()
