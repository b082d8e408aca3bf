"""The base of the GPU strategies of `segmented_scan`."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.operators import operator_macros
from rooftile.strategies.contract.gpu import Config, GpuStrategy


class GpuSegmentedScan(GpuStrategy):
    """A GPU strategy of `segmented_scan`."""

    operation = "segmented_scan"
    takes = features("dtype:* exclusive index:int32 operator.commutative operator:*")
    wide_indices = True

    def macros(self, problem: SegmentedScan, config: Config) -> dict[str, int | str]:
        macros = operator_macros(problem.operator, problem.dtype)
        compensated = problem.operator == SUM and macros["REAL"]
        return {
            **macros,
            "EXCLUSIVE": int(problem.exclusive),
            "REVERSE": 0,
            "COMPENSATED": int(compensated),
            "OFFSET": "int" if problem.index == "int32" else "int64",
            **config,
        }
