"""Every rung of `segmented_reduce`: segments of all lengths, empty ones too."""

from __future__ import annotations

from rooftile.ops.operator import MAX, Operator
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from tests.support.every_rung import EveryRung, Wrong

FARTHEST = Operator("fabs(a) >= fabs(b) ? a : b", 0, commutative=False)


class TestRungs(EveryRung):
    problems = (
        SegmentedReduce(1, 5),
        SegmentedReduce(40_000, 9000, "uint8"),
        SegmentedReduce(300, 5000, "float16", MAX, "int32"),
        SegmentedReduce(20_000, 300, operator=FARTHEST),
        SegmentedReduce(100_000, 7),
    )
    near = (SegmentedReduce(20_000, 300),)
    compiled = (SegmentedReduce(300, 5000, "float16", MAX, "int32"), SegmentedReduce(100_000, 7))
    wrong = Wrong(
        SegmentedReduce(20_000, 300),
        ("naive", "inside(offsets[segment + 1], count)", "inside(offsets[segment + 1] - 1, count)"),
        ("teams", "reach /= 2) {\n        __syncthreads();", "reach /= 2) {"),
        ("balanced", "struct run own = {IDENTITY, last > k};", "struct run own = {IDENTITY, 0};"),
    )
