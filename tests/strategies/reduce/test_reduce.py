"""Every rung of `reduce`: right on ordinary and hard inputs, the same bits in every run."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops import parse
from rooftile.ops.operator import MAX, PRODUCT, Operator
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies import ladder
from rooftile.strategies.binding.executable import Executable
from tests.support.caught import check_caught
from tests.support.labs import cases_of

FARTHEST = Operator("fabs(a) >= fabs(b) ? a : b", 0, commutative=False)
SERIAL = Operator("b - a", 0, associative=False, commutative=False)
PROBLEMS = (
    Reduce((1,)),
    Reduce((70001,)),
    Reduce((31,), None, "uint8"),
    Reduce((37, 1000), -1, operator=MAX),
    Reduce((300, 130), 0, "float16"),
    Reduce((3, 100, 7), 1, "bfloat16", PRODUCT),
    Reduce((70, 5), -1, "int32", MAX),
    Reduce((2, 40, 36), (0, 1), "int64"),
    Reduce((70, 5), -1, "uint64", MAX),
    Reduce((5003,), None, "bool"),
    Reduce((1000, 3), 0, operator=FARTHEST),
    Reduce((9, 20), -1, operator=SERIAL),
)
CPU, GPU = ladder("reduce"), ladder("reduce", "opencl")


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("rung", CPU, ids=lambda rung: rung.name)
def test_right_on_the_cpu(rung, problem):
    if rung.why_not(problem):
        pytest.skip(rung.why_not(problem))
    verify(problem, rung, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("rung", GPU, ids=lambda rung: rung.name)
def test_right_on_a_gpu(rung, problem, device):
    if rung.why_not(problem):
        pytest.skip(rung.why_not(problem))
    verify(problem, rung, device=device, hard=True, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_neighbours_are_judged_too(kind, opencl_device):
    problem = Reduce((64, 256), -1)
    for rung in CPU if kind == "cpu" else GPU:
        if rung.why_not(problem) is None:
            where = "cpu" if kind == "cpu" else opencl_device
            verify(problem, rung, device=where).raise_if_wrong()


@settings(max_examples=15, deadline=None)
@given(rows=st.integers(1, 40), columns=st.integers(1, 3000), axis=st.sampled_from([0, 1]))
def test_any_shape_on_the_cpu(rows, columns, axis):
    problem = Reduce((rows, columns), axis, "int64")
    for rung in CPU:
        verify(problem, rung, neighbours=False).raise_if_wrong()


def test_the_number_of_threads_changes_no_bit():
    problem = Reduce((3, 1_000_003), -1)
    (x,) = problem.random(1)
    (rung,) = (rung for rung in CPU if rung.name == "vectors")
    results = []
    for threads in (1, 2, 3):
        results.append(np.empty(3, np.float32))
        rung.bind(problem, (), cpu.open_device(threads))(x, results[-1])
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def changed(name, before, after):
    """A rung with one thing changed in its text."""
    rung = copy(next(rung for rung in GPU if rung.name == name))
    assert before in rung.text
    rung.text = rung.text.replace(before, after)
    return rung


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("stride = THREADS", "stride = THREADS / 2"),
        ("thread < stride", "thread < stride - 1"),
        ("partial[thread + stride]", "partial[thread + 1]"),
    ],
)
def test_wrong_texts_are_caught(before, after, opencl_device, tmp_path):
    wrong = changed("tree", before, after)
    check_caught(wrong, Reduce((5, 768), -1), opencl_device, tmp_path)


def test_what_is_left_behind_the_vectors_is_caught(opencl_device):
    wrong = changed("vectors", "total = combined(total, of_rest", "combined(total, of_rest")
    assert not verify(Reduce((70001,)), wrong, device=opencl_device).passed
    assert verify(Reduce((70000,)), wrong, device=opencl_device, neighbours=False).passed


def test_any_config(opencl_device):
    problem = Reduce((61, 1003), -1)
    exam = Exam(problem)
    (rung,) = (rung for rung in GPU if rung.name == "vectors")
    for config in (
        {"GROUP": 8, "ROWS": 32, "LOADS": 8, "BLOCKS": 1},
        {"GROUP": 512, "ROWS": 2, "LOADS": 1, "BLOCKS": 16},
        {"GROUP": 64, "ROWS": 4, "LOADS": 2, "BLOCKS": 2},
    ):
        bound = rung.bind(problem, (), opencl_device, config)
        assert isinstance(bound, Executable)
        exam.examine(computing(bound), bound.errors).raise_if_wrong()
    with pytest.raises(InputError, match="threads a block"):
        rung.bind(problem, (), opencl_device, {"GROUP": 512, "ROWS": 32})


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
@pytest.mark.parametrize("rung", ladder("reduce", "cuda"), ids=lambda rung: rung.name)
def test_compiles_for_every_architecture(rung, architecture):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    for problem in (Reduce((2, 64), -1), Reduce((64, 2), 0, "float16")):
        if rung.why_not(problem):
            continue
        macros = rung.macros(problem, rung.config(problem))
        assert compile_cubin(rung.text, macros, specific(architecture), rung.folders)


def test_problems():
    problem = parse("reduce", "shape=3x4x5,axis=-1,dtype=uint8")
    assert problem == Reduce((3, 4, 5), -1, "uint8")
    assert [array.shape for array in problem.arrays] == [(3, 4, 5), (3, 4)]
    assert problem.bytes == 60 + 8 * 12
    assert problem.output_arrays[0].dtype == "int64"
    assert Reduce((7,)).output_arrays[0].shape == ()
    for wrong in ({"axis": 2}, {"dtype": "complex64"}, {"shape": (3, 0)}):
        with pytest.raises(InputError):
            Reduce(**{"shape": (3, 4), **wrong})
    assert Reduce((2**28,)).shrunk() == Reduce((2**20,))
    assert Reduce((2**14, 2**14), -1).shrunk() == Reduce((2**14, 2**6), -1)
    with pytest.raises(InputError, match="batch"):
        parse("reduce", "sum-2^20", 7)


def test_ones_do_not_stagnate():
    x = np.ones(2**25 + 3, np.float32)
    for rung in CPU:
        made = np.zeros((), np.float32)
        rung.bind(Reduce(x.shape), (), cpu.open_device())(x, made)
        assert made == np.float32(x.size)


def test_the_atomic_rung_says_so():
    assert [rung.name for rung in GPU if rung.atomic] == ["atomic"]


def test_every_case_of_the_course_lab(opencl_device):
    places = [(rung, cpu.open_device()) for rung in CPU]
    places += [(rung, opencl_device) for rung in GPU if rung.why_not(Reduce((9,))) is None]
    cases = cases_of("reduce_sum")
    assert len(cases) == 5
    for case in cases:
        count, *numbers = (case / "input0.raw").read_text().split()
        _, total = (case / "output.raw").read_text().split()
        x, made = np.array(numbers, np.float32), np.zeros((), np.float32)
        assert x.size == int(count)
        for rung, device in places:
            rung.bind(Reduce(x.shape), (), device)(x, made)
            assert made == float(total), (case, rung.name)
