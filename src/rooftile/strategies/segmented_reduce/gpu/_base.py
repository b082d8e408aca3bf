"""The base of the GPU strategies of `segmented_reduce`."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.operators import operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy

MOST_BLOCKS = 2**31 - 1
_OFFSETS = {"int64": "int64", "int32": "int"}


def lengths(problem: SegmentedReduce) -> int:
    """Elements of a segment on average."""
    return max(1, blocks(problem.count, max(1, problem.segments)))


class GpuSegmented(GpuStrategy):
    """A GPU strategy of `segmented_reduce`."""

    operation = "segmented_reduce"
    takes = features("dtype:* offsets:int32 operator:*")
    wide_indices = True

    def limits(self, problem: SegmentedReduce) -> str | None:
        if problem.segments > MOST_BLOCKS:
            return f"{problem.segments} segments, at most {MOST_BLOCKS}"
        return None

    def macros(self, problem: SegmentedReduce, config: Config) -> dict[str, int | str]:
        real = problem.carried.startswith("float")
        return {
            **operator_macros(problem.operator, problem.dtype),
            "OFFSET": _OFFSETS[problem.offsets],
            "LOSES": int(problem.operator == SUM and real),
            **config,
        }
