"""The base of the CPU's strategies of `segmented_reduce`."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies import HostStrategy


class CpuSegmented(HostStrategy):
    """A CPU strategy of `segmented_reduce`."""

    operation = "segmented_reduce"
    takes = features("dtype:* offsets:int32 operator.associative operator.commutative operator:*")

    def units(self, problem: SegmentedReduce) -> int:
        return problem.segments


def length_of(problem: SegmentedReduce) -> int:
    """Elements of a segment, if all have as many."""
    return max(1, -(-problem.count // max(1, problem.segments)))
