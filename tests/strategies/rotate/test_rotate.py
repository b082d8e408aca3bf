"""Every rung of `rotate`: each element in its place, as it was."""

from __future__ import annotations

from copy import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops import parse
from rooftile.ops.rotate import Rotate
from rooftile.strategies import ladder

PROBLEMS = (
    Rotate((1,)),
    Rotate((256,)),
    Rotate((70_001,), 5),
    Rotate((70, 301), -7, "uint8"),
    Rotate((3, 5, 7), 9, "float16"),
    Rotate((2, 33), 0, "float64"),
)
CPU, GPU = ladder("rotate"), ladder("rotate", "opencl")


def taken(rungs, problem):
    return [rung for rung in rungs if rung.why_not(problem) is None]


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_the_cpu(problem):
    for rung in CPU:
        verify(problem, rung, hard=True).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right_on_a_gpu(problem, device):
    for rung in taken(GPU, problem):
        verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@settings(max_examples=25)
@given(
    rows=st.integers(1, 20), columns=st.integers(1, 300), shift=st.integers(-1000, 1000),
    dtype=st.sampled_from(["float32", "uint8", "bfloat16"]),
)  # fmt: skip
def test_any_shape_and_shift_on_the_cpu(rows, columns, shift, dtype):
    problem = Rotate((rows, columns), shift, dtype)
    for rung in CPU:
        verify(problem, rung, neighbours=False).raise_if_wrong()


def changed(name, before, after):
    """A rung with one thing changed in its text."""
    rung = copy(next(rung for rung in GPU if rung.name == name))
    assert before in rung.text
    rung.text = rung.text.replace(before, after)
    return rung


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("naive", "j + columns - places", "j"),
        ("in_place", "to - columns)]", "j)]"),
        ("in_place", "x[i * columns + j]", "x[j]"),
    ],
)
def test_wrong_texts_are_caught(name, before, after, opencl_device):
    wrong = changed(name, before, after)
    assert not verify(Rotate((70, 301), 7), wrong, device=opencl_device).passed


def test_any_config(opencl_device):
    problem = Rotate((61, 403), 100)
    exam = Exam(problem)
    for rung in GPU:
        for tunable in rung.tunables:
            for value in tunable.values:
                bound = rung.bind(problem, (), opencl_device, {tunable.name: value})
                exam.examine(computing(bound), bound.errors).raise_if_wrong()


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100"])
@pytest.mark.parametrize("rung", GPU, ids=lambda rung: rung.name)
def test_compiles_without_spills(rung, architecture):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    for problem in (PROBLEMS[1], PROBLEMS[3], PROBLEMS[5]):
        macros = rung.macros(problem, rung.config(problem))
        code = compile_cubin(rung.text, macros, specific(architecture), rung.folders)
        assert all(kernel.frame_bytes == 0 for kernel in resources(code).values())


def test_problems():
    problem = parse("rotate", "shape=3x4,shift=-1,dtype=uint8")
    assert problem == Rotate((3, 4), -1, "uint8")
    assert (problem.rows, problem.columns, problem.places) == (3, 4, 3)
    for wrong in ({"shape": ()}, {"shape": (3, 0)}, {"dtype": "complex64"}):
        with pytest.raises(InputError):
            Rotate(**{"shape": (3, 4), **wrong})
    assert Rotate((2**28,)).shrunk() == Rotate((2**20,))
    (in_place,) = (rung for rung in GPU if rung.name == "in_place")
    assert "at most 8192" in in_place.why_not(Rotate((8193,)))
    (step,) = GPU[0].steps(Rotate((2**31 + 17,)), GPU[0].config(Rotate((2**31 + 17,))))
    assert step.launch.grid[0] * 256 >= 2**31 + 17
