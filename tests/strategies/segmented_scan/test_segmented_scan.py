"""Every rung of `segmented_scan`: right for long segments, short ones, empty ones and one alone."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.operator import MAX, Operator
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies import ladder, strategy

CPU, GPU = ladder("segmented_scan"), ladder("segmented_scan", "opencl")
CUDA = ladder("segmented_scan", "cuda")
LAST = Operator("b == 0 ? a : b", 0, commutative=False)
PROBLEMS = (
    SegmentedScan(1, 1),
    SegmentedScan(9001, 300),
    SegmentedScan(1101, 1201, "int64", LAST, exclusive=True),
    SegmentedScan(5001, 30, "float16", MAX, exclusive=True, index="int32"),
    SegmentedScan(901, 30, operator=Operator("0.5 * a + b", 0, associative=False)),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_the_cpu(problem):
    for rung in CPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, hard=True, neighbours=False, threads=2).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS[1:3], ids=str)
def test_right_on_every_device(problem, device):
    for rung in GPU:
        verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_cuda(problem, cuda_device):
    architecture = cuda_device.description.architecture
    for rung in CUDA:
        if rung.why_not(problem) is None and rung.why_not_on(architecture) is None:
            verify(problem, rung, device=cuda_device, hard=True).raise_if_wrong()


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cut[e] ? run[e] : combined(sum, run[e])", "combined(sum, run[e])"),
        ("cut ? nothing() : before", "before"),
    ],
)
def test_wrong_texts_are_caught(before, after, opencl_device):
    wrong = copy(GPU[1])
    assert before in wrong.text
    wrong.text = wrong.text.replace(before, after)
    problem = SegmentedScan(20_000, 40)
    assert not verify(problem, wrong, device=opencl_device, neighbours=False).passed


@pytest.mark.parametrize("rung", CUDA, ids=lambda rung: rung.name)
def test_compiles_without_spills(rung):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    problem = SegmentedScan(2**20, 1000)
    macros = rung.macros(problem, rung.config(problem))
    code = compile_cubin(rung.text, macros, specific("sm_90"), rung.folders)
    assert all(kernel.frame_bytes == 0 for kernel in resources(code).values())


def test_waves_take_what_fits():
    rung, problem = strategy("segmented_scan", "waves", "cuda"), SegmentedScan(2**28, 10**6)
    config = rung.config(problem)
    launches = [step.launch for step in rung.steps(problem, config)]
    assert [launch.cooperative for launch in launches] == [False, False, True]
    assert rung.invalid(problem, config) is None
    assert "shared memory" in rung.invalid(problem, {**config, "BLOCKS": 3})
    small = rung.on(replace(rung.machine, shared_bytes=102_400, block_shared_bytes=101_376))
    assert small.invalid(problem, small.defaults(problem)) is None
    assert rung.why_slow(problem) is None
    assert "few waves" in rung.why_slow(SegmentedScan(2**20, 1000))
    assert "short" in rung.why_slow(SegmentedScan(2**28, 2**26))
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
