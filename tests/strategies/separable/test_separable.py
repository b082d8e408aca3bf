"""Every rung of `separable`: right on ordinary and hard inputs, the same bits in every run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.lab.judge.verify import verify
from rooftile.ops.patterns.separable import AROUND, Separable
from rooftile.strategies import ladder, strategy
from rooftile.strategies.separable.cpu import vectors
from tests.support.caught import check_caught
from tests.support.compiling import MEASURED, compiled
from tests.support.every_rung import EveryRung, Wrong, changed
from tests.support.filter_checks import (
    check_new_memory,
    same_for_all_threads_and_places,
)

PROBLEMS = (
    Separable(1, 1, (1, 1)),
    Separable(4, 6, (63, 62), "replicate"),
    Separable(3, 7, (6, 9)),
    Separable(70, 131, (31, 31)),
    Separable(40, 172, (5, 5), "valid"),
    Separable(33, 45, (4, 7), "replicate", 3, 3),
    Separable(36, 128, (3, 5), "zero", 2, 3),
)
CPU, GPU = ladder("separable"), ladder("separable", "opencl")
FLOAT32 = [rung for rung in CPU if rung.name != "double"]


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Separable(64, 64, (5, 5)),)
    configured = (Separable(50, 131, (6, 5), "replicate"),)
    compiled = (Separable(90, 95, (5, 4), "replicate", 3, 3),)
    wrong = Wrong(
        Separable(150, 300, (21, 9)),
        ("naive", "i + p - TOP", "i + p"),
        ("naive", "j - LEFT", "j"),
        ("shared", "top + e / LOADED_X - TOP", "top + e / LOADED_X"),
        ("shared", "tile[i + p][j]", "tile[i][j]"),
        ("shared", "= sum;\n        }\n        __syncthreads();", "= sum;\n        }"),
        ("coarsened", "SKIPPED + q + v", "q + v"),
        ("coarsened", "int p = e - r;", "int p = e - r + 1;"),
        ("coarsened", "made[r][v] += parts[r][v]", "made[r][v] = parts[r][v]"),
        ("coarsened", "top + r + p", "first + r + p"),
    )


few = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def problems(draw, most):
    """Images and batches, masks of 1 to 31 taps each way."""
    mask = draw(st.integers(1, 31)), draw(st.integers(1, 31))
    boundary = draw(st.sampled_from(AROUND))
    more = mask if boundary == "valid" else (0, 0)
    height, width = (draw(st.integers(1, most)) + extra for extra in more)
    if draw(st.booleans()):
        return Separable(height, width, mask, boundary)
    return Separable(height, width, mask, boundary, draw(st.integers(1, 3)), 3)


@few
@given(problem=problems(150), seed=st.integers(0, 99))
def test_any_problem_on_the_cpu(problem, seed):
    for rung in CPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@few
@given(problem=problems(150), seed=st.integers(0, 99), data=st.data())
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
    rung = strategy("separable", "vectors")
    for problem in (Separable(67, 1501, (5, 9)), Separable(40, 70, (3, 4), "valid")):
        same_for_all_threads_and_places(rung, problem)
        verify(problem, rung, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("rung", FLOAT32, ids=lambda rung: rung.name)
def test_calls_of_one_bound_strategy_take_turns(rung):
    problem = Separable(60, 70, (3, 3), "valid")
    bound = rung.bind(problem, (np.ones(3, np.float32),) * 2, cpu.open_device())

    def call(number):
        out = np.empty(problem.output_size, np.float32)
        bound(np.full((60, 70), number, np.float32), out)
        return (out == 9 * number).all()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(40)))


def test_strips_follow_each_other_over_a_wide_image():
    for boundary in AROUND:
        problem = Separable(9, 2 * vectors.STRIP + 77, (3, 31), boundary)
        verify(problem, strategy("separable", "vectors"), neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("rung", FLOAT32, ids=lambda rung: rung.name)
def test_nothing_computes_on_memory_that_nobody_wrote(rung):
    check_new_memory(rung, Separable(31, 77, (4, 6), "replicate", 2, 3))
    check_new_memory(rung, Separable(5, 7, (9, 33), "zero", 2, 3))


@pytest.mark.parametrize("name", ["shared", "coarsened"])
def test_a_missing_barrier_is_caught(name, opencl_device, tmp_path):
    wrong = changed("separable", name, "__syncthreads();", "", 1)
    large, small = Separable(150, 300, (21, 9)), Separable(40, 70, (21, 9))
    check_caught(wrong, large, opencl_device, tmp_path, small=small)


def test_what_each_rung_refuses():
    wide = Separable(100, 100, (3, 65))
    assert "registers" in strategy("separable", "coarsened", "opencl").why_not(wide)
    assert strategy("separable", "shared", "opencl").why_not(wide) is None
    huge = Separable(2000, 2000, (301, 301))
    assert "shared memory" in strategy("separable", "shared", "opencl").why_not(huge)
    assert strategy("separable", "naive", "opencl").why_not(huge) is None
    assert "taps" in strategy("separable", "vectors").why_not(Separable(9, 9000, (3, 4001)))


def test_the_top_rung_leaves_room_for_many_warps():
    """Memory is hidden by warps: with 64 registers a thread half of them fit."""
    rung = strategy("separable", "coarsened", "cuda")
    taken = compiled(rung, Separable(8192, 8192, (5, 5)), MEASURED)[rung.kernel()]
    assert taken.registers <= 64
    assert taken.frame_bytes == 0
