"""Every rung of `conv1d`: right on ordinary and hard inputs, the same bits in every run."""

from __future__ import annotations

import os
import subprocess
import sys

import llvmlite.binding as llvm
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops.boundary import BOUNDARIES
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies import ladder, strategy
from rooftile.strategies.common import correlate
from rooftile.strategies.conv1d.cpu import vectors
from tests.support.caught import check_caught
from tests.support.compiling import MEASURED, compiled
from tests.support.every_rung import EveryRung, Wrong, changed
from tests.support.filter_checks import (
    check_new_memory,
    same_for_all_threads_and_places,
)

PROBLEMS = (
    Conv1d(1, 1),
    Conv1d(5, 63, "replicate"),
    Conv1d(3, 8, "interior"),
    Conv1d(4999, 31),
    Conv1d(5003, 5, "interior"),
    Conv1d(3000, 63, "valid"),
    Conv1d(333, 6, "replicate", 3, 2, 4, 3),
    Conv1d(1024, 3, "zero", 2, 3, 2, 3),
)
CPU, GPU = ladder("conv1d"), ladder("conv1d", "opencl")
FLOAT32 = [rung for rung in CPU if rung.name != "double"]


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Conv1d(512, 9, "zero", 2, 2, 3, 3),)
    configured = (Conv1d(5001, 30, "replicate"),)
    compiled = (Conv1d(999, 5, "replicate", 3, 2, 2, 3),)
    wrong = Wrong(
        Conv1d(3001, 21, "zero", 1, 2, 2, 3),
        ("one_block", "i + q - BEFORE", "i + q - BEFORE + 1"),
        ("naive", "(row % MAPS * CHANNELS + c) * MASK", "c * MASK"),
        ("constant", "(n * CHANNELS + c) * length", "n * CHANNELS * length"),
        ("tile_three_loads", "element(signal, i - BLOCK, length)", "0.0f"),
        ("tile_three_loads", "element(signal, i + BLOCK, length)", "0.0f"),
        ("tile_two_loads", "element(signal, i - BEFORE + BLOCK, length)", "0.0f"),
        ("tile_input", "(int64)blockIdx.x * TILE,", "(int64)blockIdx.x * BLOCK,"),
        ("tile_core", "if (at != near) value", "if (at < near) value"),
        ("coarsened", "SKIPPED + q + v", "q + v"),
        ("coarsened", "sums[u][v] += parts[v]", "sums[u][v] = parts[v]"),
    )


few = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def problems(draw, lengths):
    """Signals and batches, masks of 1 to 63 taps."""
    mask, boundary = draw(st.integers(1, 63)), draw(st.sampled_from(BOUNDARIES))
    length = draw(lengths) + (mask if boundary == "valid" else 0)
    if draw(st.booleans()):
        return Conv1d(length, mask, boundary)
    batch, channels, maps = (draw(st.integers(1, 3)) for _ in range(3))
    return Conv1d(length, mask, boundary, batch, channels, maps, 3)


@few
@given(problem=problems(st.integers(1, 20_000)), seed=st.integers(0, 99))
def test_any_problem_on_the_cpu(problem, seed):
    for rung in CPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@few
@given(problem=problems(st.integers(1, 3000)), seed=st.integers(0, 99), data=st.data())
def test_any_problem_with_any_config_on_a_gpu(problem, seed, data, opencl_device):
    rung = data.draw(st.sampled_from(GPU))
    drawn = {t.name: data.draw(st.sampled_from(t.values)) for t in rung.tunables}
    config = drawn if rung.invalid(problem, drawn) is None else None
    found = verify(problem, rung, seed, device=opencl_device, config=config, neighbours=False)
    found.raise_if_wrong()


@pytest.mark.parametrize("stream", [False, True])
def test_threads_and_places_change_no_bit(stream, monkeypatch):
    """Also where the result goes past the caches, whose stores want whole aligned vectors."""
    monkeypatch.setattr(vectors, "streams", lambda nbytes: stream)
    rung = strategy("conv1d", "vectors")
    for problem in (Conv1d(50_021, 5), Conv1d(50_021, 31, "valid"), Conv1d(37, 4)):
        same_for_all_threads_and_places(rung, problem)
        verify(problem, rung, neighbours=False).raise_if_wrong()


def test_results_beyond_the_caches_are_streamed(monkeypatch):
    monkeypatch.setattr(correlate.cpu, "cache_bytes", lambda: 1000)
    assert correlate.streams(1001)
    assert not correlate.streams(1000)
    monkeypatch.setattr(correlate.cpu, "cache_bytes", lambda: None)
    assert not correlate.streams(2**40)


_EIGHT_LANES = """
from rooftile.devices.cpu.native.vector import lanes
from rooftile.lab.judge.verify import verify
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import strategy

assert lanes() == 8
for problem in (Conv1d(301, 9), Conv1d(301, 31, "valid"), Separable(30, 77, (5, 6))):
    verify(problem, strategy(problem.operation, "vectors"), neighbours=False).raise_if_wrong()
"""


@pytest.mark.skipif(
    not llvm.get_host_cpu_features().get("avx2"), reason="the processor has no AVX2 to compile for"
)
def test_eight_lanes_are_right():
    """As a processor without AVX-512 compiles them; those of `separable`, too."""
    avx2 = {"ROOFTILE_CPU_NAME": "haswell", "ROOFTILE_CPU_FEATURES": "+avx,+avx2,+fma"}
    done = subprocess.run(
        [sys.executable, "-c", _EIGHT_LANES], env={**os.environ, **avx2}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("rung", FLOAT32, ids=lambda rung: rung.name)
def test_nothing_computes_on_memory_that_nobody_wrote(rung):
    check_new_memory(rung, Conv1d(301, 6, "replicate", 2, 2, 3, 3))
    check_new_memory(rung, Conv1d(19, 31, "zero", 2, 1, 1, 3))


def test_quads_that_lie_side_by_side_are_caught(opencl_device):
    wrong = changed("conv1d", "coarsened", "e / 4 * APART + e % 4", "e")
    problem = Conv1d(3001, 21, "zero", 1, 2, 2, 3)
    assert not verify(problem, wrong, device=opencl_device, config={"QUADS": 2}).passed


@pytest.mark.parametrize("name", ["tile_three_loads", "tile_two_loads", "tile_input", "tile_core"])
def test_a_missing_barrier_is_caught(name, opencl_device, tmp_path):
    wrong = changed("conv1d", name, "__syncthreads();", "", 1)
    check_caught(wrong, Conv1d(3001, 21), opencl_device, tmp_path, small=Conv1d(301, 21))


def test_interior_outputs_are_told_from_those_at_the_ends(opencl_device):
    wrong = changed("conv1d", "coarsened", "row[i] = kept(sum, i, length)", "row[i] = sum")
    assert verify(Conv1d(999, 5), wrong, device=opencl_device, neighbours=False).passed
    assert not verify(Conv1d(999, 5, "interior"), wrong, device=opencl_device).passed


def test_weights_beyond_constant_memory_go_by_slices(opencl_device):
    problem = Conv1d(70, 15, "zero", 2, 300, 9, 3)
    rung = strategy("conv1d", "coarsened", "opencl")
    assert len(rung.steps(problem, rung.config(problem))) == 3
    verify(problem, rung, device=opencl_device, neighbours=False).raise_if_wrong()
    too_many = Conv1d(70, 15, "zero", 2, 1100, 9, 3)
    assert "constant memory" in rung.why_not(too_many)
    assert strategy("conv1d", "naive", "opencl").why_not(too_many) is None


def test_every_config_of_the_top_rung(opencl_device):
    problem = Conv1d(5001, 30, "replicate")
    exam = Exam(problem)
    rung = strategy("conv1d", "coarsened", "opencl")
    for config in ({"BLOCK": 64, "QUADS": 4}, {"BLOCK": 512, "QUADS": 2}):
        bound = rung.bind(problem, exam.parameters, opencl_device, config)
        exam.examine(computing(bound), bound.errors).raise_if_wrong()
    with pytest.raises(InputError, match="registers"):
        rung.bind(Conv1d(99, 63), (problem.random(0)[1],), opencl_device, {"QUADS": 4})


def test_what_each_rung_refuses_and_admits():
    long = Conv1d(10**6, 129)
    assert "registers" in strategy("conv1d", "coarsened", "opencl").why_not(long)
    two = strategy("conv1d", "tile_two_loads", "opencl")
    assert two.why_not(long) is None
    assert "halo" in two.invalid(long, {"BLOCK": 64})
    strategy("conv1d", "one_block", "opencl")


@pytest.mark.parametrize("mask", [3, 5, 31, 63])
def test_the_top_rung_leaves_room_for_many_warps(mask):
    """Memory is hidden by warps: with 48 registers a thread 40 of 64 fit."""
    rung = strategy("conv1d", "coarsened", "cuda")
    taken = compiled(rung, Conv1d(10**8, mask), MEASURED)[rung.kernel()]
    assert taken.registers <= 48
    assert taken.frame_bytes == 0
