"""Every rung of `matvec`: right however the matrix lies, on the CPU and on GPUs."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops import parse
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.machine import preset
from tests.support.compiling import check_compiles

SIZES = [(1, 1), (9, 70), (300, 1000), (130, 2052), (1000, 37)]
PROBLEMS = [Matvec(*sizes, transpose) for sizes in SIZES for transpose in (False, True)]
CPU, GPU = ladder("matvec"), ladder("matvec", "opencl")
FEW_ROWS = strategy("matmul", "few_rows", "opencl")
LARGE_BLOCKS = {"LANES": 8, "SLICES": 128, "AHEAD": 8, "PARTS": 1, "TERMS": 4096}


def taken(rungs, problems=PROBLEMS):
    return [
        pytest.param(rung, problem, id=f"{rung.name}-{number}")
        for rung in rungs
        for number, problem in enumerate(problems)
        if rung.why_not(problem) is None
    ]


@pytest.mark.parametrize(("rung", "problem"), taken(CPU))
def test_right_on_the_cpu(rung, problem):
    verify(problem, rung, hard=True, neighbours=False, threads=2).raise_if_wrong()


@pytest.mark.parametrize(("rung", "problem"), taken(GPU, PROBLEMS[2:]))
def test_right_on_a_gpu(rung, problem, device):
    verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@settings(max_examples=20)
@given(rows=st.integers(1, 400), columns=st.integers(1, 1500), transpose=st.booleans())
def test_any_shape_on_the_cpu(rows, columns, transpose):
    problem = Matvec(rows, columns, transpose)
    for rung in CPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("sizes", [(3, 70, 9), (8, 600, 260)])
def test_few_rows_of_matmul(sizes, transpose_a, transpose_b, device):
    problem = Matmul(*sizes, transpose_a, transpose_b)
    verify(problem, FEW_ROWS, device=device, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize(
    ("problem", "config"),
    [
        (Matmul(3, 1000, 100), {"LANES": 64, "SLICES": 4, "AHEAD": 2, "PARTS": 8}),
        (Matmul(1, 1001, 101), {"LANES": 32, "SLICES": 1, "AHEAD": 8, "PARTS": 1}),
        (Matmul(2, 90, 101), {"LANES": 32, "SLICES": 16, "AHEAD": 8, "PARTS": 64}),
        (Matmul(5, 1000, 37, False, True), {"LANES": 256, "SLICES": 1, "AHEAD": 1}),
        (Matmul(1, 75, 37, False, True), {"LANES": 32, "SLICES": 4, "AHEAD": 8}),
        # Several groups of whole loads, and terms left over, of none to all slices.
        (Matmul(3, 1003, 100), {"SLICES": 4, "AHEAD": 4, "PARTS": 2, "WHOLE": 1}),
        (Matmul(1, 31, 101, True), {"SLICES": 4, "AHEAD": 8, "PARTS": 1, "WHOLE": 1}),
        (Matmul(2, 4500, 36), {**LARGE_BLOCKS, "WHOLE": 1}),
        (Matmul(1, 4100, 37), {**LARGE_BLOCKS, "WHOLE": 0}),
    ],
)
def test_other_configs(problem, config, opencl_device):
    bound = FEW_ROWS.bind(problem, (), opencl_device, config)
    Exam(problem).examine(computing(bound), bound.errors).raise_if_wrong()


def test_a_config_that_cannot_run_is_refused(opencl_device):
    with pytest.raises(InputError, match="no parts"):
        FEW_ROWS.bind(Matmul(1, 5, 5, False, True), (), opencl_device, {"PARTS": 2})
    for config in ({"TERMS": 4096}, {"WHOLE": 1}):
        with pytest.raises(InputError, match="nothing of a in shared memory"):
            FEW_ROWS.bind(Matmul(1, 5, 5, False, True), (), opencl_device, config)
    with pytest.raises(InputError, match="less than a warp"):
        FEW_ROWS.bind(Matmul(1, 5, 5, False, True), (), opencl_device, {"LANES": 8})
    with pytest.raises(InputError, match="1024 terms ahead, of 256"):
        FEW_ROWS.bind(Matmul(1, 5, 5), (), opencl_device, {**LARGE_BLOCKS, "TERMS": 256})
    with pytest.raises(InputError, match="threads a block"):
        FEW_ROWS.bind(Matmul(1, 5, 5), (), opencl_device, {"LANES": 256, "SLICES": 8})
    assert "up to 8 rows" in FEW_ROWS.why_not(Matmul(9, 5, 5))
    assert "transpose" in strategy("matvec", "warp_rows", "cuda").why_not(Matvec(3, 4, True))
    assert "warp_rows" in strategy("matvec", "strips", "cuda").why_not(Matvec(3, 4))


WRONG = {
    "no zeros before atomics": ("column_threads", "y[i] = 0.0f", "y[i] = 1.0f", False),
    "a row short": ("row_threads", "i >= rows", "i >= rows - 1", False),
    "the first tile of x again": ("shared_x", "held[threadIdx.x] = x[own]",
                                  "held[threadIdx.x] = x[threadIdx.x]", False),
    "a segment of another row": ("two_dimensional", "first + tx; j < end", "tx; j < end", False),
    "a tree without its first step": ("warp_rows", "LANES / 2; reach", "LANES / 4; reach", False),
    "a slice forgotten": ("strips", "slice < SLICES", "slice < SLICES - 1", True),
    "a part forgotten": ("strips", "part < parts", "part < parts - 1", True),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_texts_are_caught(name, opencl_device):
    rung, before, after, transpose = WRONG[name]
    right = strategy("matvec", rung, "opencl")
    wrong, text = copy(right), right.whole_text
    assert before in text
    wrong.__dict__["text"] = text.replace(before, after)
    problem = Matvec(300, 1000, transpose)
    assert verify(problem, right, device=opencl_device, neighbours=False).passed
    assert not verify(problem, wrong, device=opencl_device, neighbours=False).passed


@pytest.mark.parametrize("rung", [*GPU, FEW_ROWS], ids=lambda rung: rung.name)
def test_compiles_without_spills(rung):
    problems = (
        Matvec(64, 64),
        Matvec(63, 61, True),
        Matmul(8, 64, 64),
        Matmul(1, 63, 61, True, True),
    )
    check_compiles(rung, [one for one in problems if one.operation == rung.operation])


def test_problems():
    problem = parse("matvec", "rows=3,columns=4,transpose=1")
    assert problem == Matvec(3, 4, True)
    assert [array.shape for array in problem.arrays] == [(4, 3), (4,), (3,)]
    assert problem.bytes == 4 * (12 + 4 + 3)
    assert Matvec(2**12, 2**12).shrunk() == Matvec(2**8, 2**12)
    a, x = problem.random(0)
    assert np.allclose(problem.reference(a, x), a.T.astype(np.float64) @ x)


def test_large_blocks_take_a_row_where_they_fill_the_machine():
    row = Matmul(1, 4096, 4096)
    assert FEW_ROWS.defaults(row) == {**LARGE_BLOCKS, "AHEAD": 4, "WHOLE": 1}
    small = replace(preset("sm_90"), block_threads=256)
    others = (
        FEW_ROWS.on(small).defaults(row),
        FEW_ROWS.defaults(Matmul(2, 4096, 4096)),
        FEW_ROWS.defaults(Matmul(1, 4096, 2048)),
        FEW_ROWS.defaults(Matmul(1, 8192, 4096)),
        strategy("matmul", "few_rows_fp16", "opencl").defaults(row),
    )
    assert all(one["LANES"] * one["SLICES"] <= 256 and one["WHOLE"] == 0 for one in others)
