"""Every rung of `argreduce`: places as NumPy has them, ties and NaN included."""

from __future__ import annotations

import pytest

from rooftile.lab.judge.verify import verify
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies import ladder

PROBLEMS = (
    Argreduce((1,)),
    Argreduce((70001,)),
    Argreduce((37, 1000), -1, operator="min"),
    Argreduce((300, 130), 0, "bfloat16"),
    Argreduce((3, 100, 7), 1, "int64"),
    Argreduce((31,), None, "uint8", "min"),
    Argreduce((70, 5), -1, "uint64"),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("rung", ladder("argreduce"), ids=lambda rung: rung.name)
def test_right_on_the_cpu(rung, problem):
    verify(problem, rung, hard=True).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("rung", ladder("argreduce", "opencl"), ids=lambda rung: rung.name)
def test_right_on_a_gpu(rung, problem, device):
    if rung.why_not(problem):
        pytest.skip(rung.why_not(problem))
    verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()
