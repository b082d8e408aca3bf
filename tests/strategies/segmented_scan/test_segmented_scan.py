"""Every rung of `segmented_scan`: right for long segments, short ones, empty ones and one alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.operator import MAX, Operator
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies import ladder, strategy
from tests.support.every_rung import EveryRung, Wrong

CPU, GPU = ladder("segmented_scan"), ladder("segmented_scan", "opencl")
LAST = Operator("b == 0 ? a : b", 0, commutative=False)
PROBLEMS = (
    SegmentedScan(1, 1),
    SegmentedScan(9001, 300),
    SegmentedScan(1101, 1201, "int64", LAST, exclusive=True),
    SegmentedScan(5001, 30, "float16", MAX, exclusive=True, index="int32"),
    SegmentedScan(901, 30, operator=Operator("0.5 * a + b", 0, associative=False)),
)


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (SegmentedScan(9001, 300),)
    configured = (SegmentedScan(9001, 300),)
    compiled = (SegmentedScan(2**20, 1000),)
    wrong = Wrong(
        SegmentedScan(20_000, 40),
        (GPU[1].name, "cut[e] ? run[e] : combined(sum, run[e])", "combined(sum, run[e])"),
        (GPU[1].name, "cut ? nothing() : before", "before"),
    )


def test_many_tiles_on_cuda(cuda_device):
    for name, segments in product(("look_back", "waves"), (1, 100, 10**6)):
        rung, problem = strategy("segmented_scan", name, "cuda"), SegmentedScan(5_000_011, segments)
        if rung.why_not_on(cuda_device.description.architecture) is not None:
            continue
        verify(problem, rung, device=cuda_device, neighbours=False).raise_if_wrong()


@settings(max_examples=10, deadline=None)
@given(count=st.integers(1, 20_000), segments=st.integers(1, 500), seed=st.integers(0, 99))
def test_any_segments(count, segments, seed, opencl_device):
    problem = SegmentedScan(count, segments)
    verify(problem, CPU[1], seed, neighbours=False, threads=2).raise_if_wrong()
    verify(problem, GPU[1], seed, device=opencl_device, neighbours=False).raise_if_wrong()


def test_waves_take_what_fits():
    rung, problem = strategy("segmented_scan", "waves", "cuda"), SegmentedScan(2**28, 10**6)
    config = rung.config(problem)
    launches = [step.launch for step in rung.steps(problem, config)]
    assert [launch.cooperative for launch in launches] == [False, False, True]
    assert rung.invalid(problem, config) is None
    assert "shared memory" in rung.invalid(problem, {**config, "BLOCKS": 3})
    small = rung.on(replace(rung.machine, shared_bytes=102_400, block_shared_bytes=101_376))
    assert small.invalid(problem, small.defaults(problem)) is None
    for other in (SegmentedScan(9, 2, "float16"), SegmentedScan(9, 2, "int64", LAST)):
        assert rung.why_not(other) is not None


def test_problems():
    problem = parse("segmented_scan", "count=6,segments=3,exclusive=1,operator=max")
    assert problem == SegmentedScan(6, 3, operator=MAX, exclusive=True)
    x, offsets = np.arange(1, 7, dtype=np.float32), np.array([0, 2, 2, 6])
    assert (SegmentedScan(6, 3).reference(x, offsets) == [1, 3, 3, 7, 12, 18]).all()
    made = SegmentedScan(6, 3, exclusive=True).reference(x, offsets)
    assert (made == [0, 1, 0, 3, 7, 12]).all()
    with pytest.raises(InputError, match="index"):
        SegmentedScan(6, 3, index="uint8")
    _, found = SegmentedScan(100, 20).altered(SegmentedScan(100, 20).random(0), 1, 3)
    assert (np.diff(found) >= 0).all()
