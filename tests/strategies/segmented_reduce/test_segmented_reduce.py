"""Every rung of `segmented_reduce`: segments of all lengths, empty ones too."""

from __future__ import annotations

import pytest

from rooftile.lab.judge.verify import verify
from rooftile.ops.operator import MAX, Operator
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.strategies import ladder

FARTHEST = Operator("fabs(a) >= fabs(b) ? a : b", 0, commutative=False)
PROBLEMS = (
    SegmentedReduce(1, 5),
    SegmentedReduce(100_000, 7),
    SegmentedReduce(40_000, 9000, "uint8"),
    SegmentedReduce(300, 5000, "float16", MAX, "int32"),
    SegmentedReduce(20_000, 300, operator=FARTHEST),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("rung", ladder("segmented_reduce"), ids=lambda rung: rung.name)
def test_right_on_the_cpu(rung, problem):
    if rung.why_not(problem):
        pytest.skip(rung.why_not(problem))
    verify(problem, rung, hard=True).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("rung", ladder("segmented_reduce", "opencl"), ids=lambda rung: rung.name)
def test_right_on_a_gpu(rung, problem, device):
    if rung.why_not(problem):
        pytest.skip(rung.why_not(problem))
    verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()
