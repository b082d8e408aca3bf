"""What the CPU's strategies of `segmented_reduce` share."""

from __future__ import annotations

from rooftile.ops.segmented_reduce import SegmentedReduce
from rooftile.strategies import HostStrategy


class CpuSegmented(HostStrategy):
    """A CPU strategy of `segmented_reduce`."""

    operation = "segmented_reduce"

    def why_not(self, problem: SegmentedReduce) -> str | None:
        """An operator that is not associative."""
        return None if problem.operator.associative else "its operator is not associative"

    def units(self, problem: SegmentedReduce) -> int:
        """Segments."""
        return problem.segments


def length_of(problem: SegmentedReduce) -> int:
    """Elements of a segment, if all have as many."""
    return max(1, -(-problem.count // max(1, problem.segments)))
