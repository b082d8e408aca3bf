"""Every rung of `reduce`: right on ordinary and hard inputs, the same bits in every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import parse
from rooftile.ops.operator import MAX, PRODUCT, Operator
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies import ladder
from tests.support.every_rung import EveryRung, Wrong, changed
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


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Reduce((64, 256), -1), Reduce((64, 256), 0))
    configured = (Reduce((61, 1003), -1), Reduce((61, 1003), 0))
    compiled = (Reduce((2, 64), -1), Reduce((64, 2), 0, "float16"))
    wrong = Wrong(
        Reduce((5, 768), -1),
        ("tree", "stride = THREADS", "stride = THREADS / 2"),
        ("tree", "thread < stride", "thread < stride - 1"),
        ("tree", "partial[thread + stride]", "partial[thread + 1]"),
    )


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


def test_what_is_left_behind_the_vectors_is_caught(opencl_device):
    wrong = changed(
        "reduce", "vectors", "total = combined(total, of_rest", "combined(total, of_rest"
    )
    assert not verify(Reduce((70001,)), wrong, device=opencl_device).passed
    assert verify(Reduce((70000,)), wrong, device=opencl_device, neighbours=False).passed


def test_a_block_of_too_many_threads_is_refused(opencl_device):
    (rung,) = (rung for rung in GPU if rung.name == "vectors")
    with pytest.raises(InputError, match="threads a block"):
        rung.bind(Reduce((61, 1003), -1), (), opencl_device, {"GROUP": 512, "ROWS": 32})


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
