from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.devices.cpu.native import vector
from rooftile.lab.judge.verify import Exam, assert_close, random_inputs
from rooftile.ops import Linear
from rooftile.strategies.gemm.cpu.kernels import linear_kernel
from rooftile.strategies.linear.cpu.blocked import STRATEGY

ACTIVATIONS = ("none", "relu", "sigmoid", "tanh")

problems = st.builds(
    Linear,
    batch=st.one_of(st.integers(1, 70), st.sampled_from([112, 113, 141])),
    inputs=st.one_of(st.integers(1, 70), st.sampled_from([255, 256, 257, 700, 1345])),
    outputs=st.one_of(st.integers(1, 70), st.sampled_from([128, 129])),
    activation=st.sampled_from(ACTIVATIONS),
)


def run(problem, x, weights, bias, *, lanes=None, cuts=(), slack=64, lie=None):
    """The kernel's result on all units, done in the ranges that ``cuts`` (0 to 1) divide them
    into; checks that it wrote nothing outside the result."""
    width = lanes or vector.lanes()
    kernel = linear_kernel(problem, width, 2 * width, lie)
    size = len(x) * problem.outputs
    out = np.full(size + 2 * slack, np.nan, np.float32)
    packed, sizes = np.full(kernel.packed, np.nan, np.float32), np.array(kernel.sizes, np.int64)
    if lie is None:
        kernel.pack(weights, packed, 1)
    else:
        packed = np.ascontiguousarray(weights if lie == "rows" else weights.T)
    units = kernel.units(len(x))
    address = kernel.function.address(("float32",) * 4, scratch=True)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(address)
    scratch = np.full(kernel.scratch, np.nan, np.float32)
    arrays = (x, packed, bias, out[slack : slack + size], scratch, sizes)
    row = np.array(cpu.places(arrays), np.int64)
    marks = sorted({0, units, *(round(cut * units) for cut in cuts)})
    # Any order of the ranges, as threads would have it.
    for begin, end in reversed(list(itertools.pairwise(marks))):
        entry(row.ctypes.data, 0, begin, end)
    assert np.isnan(out[:slack]).all()
    assert np.isnan(out[slack + size :]).all()
    return out[slack : slack + size].reshape(len(x), problem.outputs)


def same_bits(a, b):
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))


@settings(max_examples=60)
@given(problem=problems, seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.floats(0, 1), max_size=3))
def test_within_the_budget_for_any_size_and_any_ranges(problem, seed, cuts):
    x, weights, bias = random_inputs(problem, seed)
    out = run(problem, x, weights, bias, cuts=cuts)
    assert_close(problem, out, x, weights, bias)


@settings(max_examples=25)
@given(problem=problems, seed=st.integers(0, 2**32 - 1))
def test_half_as_wide_a_vector_gives_the_same_bits(problem, seed):
    inputs = random_inputs(problem, seed)
    assert same_bits(run(problem, *inputs, lanes=8), run(problem, *inputs, lanes=16))


@pytest.mark.parametrize("lie", ["rows", "columns"])
@pytest.mark.parametrize("lanes", [8, 16])
@settings(max_examples=25)
@given(problem=problems, seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.floats(0, 1), max_size=3))
def test_weights_as_they_lie_give_the_same_bits(lanes, lie, problem, seed, cuts):
    inputs = random_inputs(problem, seed)
    found = run(problem, *inputs, lanes=lanes, lie=lie, cuts=cuts)
    assert same_bits(found, run(problem, *inputs, lanes=lanes))


@settings(max_examples=25)
@given(problem=problems, seed=st.integers(0, 2**32 - 1), data=st.data())
def test_an_image_has_the_same_bits_in_every_batch(problem, seed, data):
    x, weights, bias = random_inputs(problem, seed)
    first = data.draw(st.integers(0, problem.batch - 1))
    last = data.draw(st.integers(first + 1, problem.batch))
    whole = run(problem, x, weights, bias)
    assert same_bits(run(problem, x[first:last], weights, bias), whole[first:last])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_non_finite_values_reach_what_depends_on_them_and_nothing_else(value, activation):
    problem = Linear(11, 500, 37, activation)
    x, weights, bias = random_inputs(problem, 5)
    x[3, 499] = weights[36, 2] = bias[20] = value
    assert_close(problem, run(problem, x, weights, bias), x, weights, bias)


def test_few_outputs_share_their_images_among_cores():
    kernel = linear_kernel(Linear(100, 1000, 10), 8, 16)
    assert kernel.units(100) >= 4
    # Their inputs are read where they are, in the order of all others.
    x, weights, bias = random_inputs(Linear(100, 1000, 100), 3)
    few = run(Linear(100, 1000, 10), x, weights[:10], bias[:10], lanes=8)
    many = run(Linear(100, 1000, 100), x, weights, bias, lanes=8)
    assert same_bits(np.ascontiguousarray(many[:, :10]), few)


def test_terms_of_one_sign_stay_within_the_budget():
    # Rounding errors of equal terms do not average out: long chains of additions would show.
    problem = Linear(2, 20000, 3)
    x, weights = np.full((2, 20000), 0.1, np.float32), np.full((3, 20000), 0.3, np.float32)
    bias = np.zeros(3, np.float32)
    assert_close(problem, run(problem, x, weights, bias), x, weights, bias)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("batch", [1, 7, 100])
def test_bound_to_threads_it_passes_the_exam_and_takes_partial_batches(batch, threads):
    problem = Linear(batch, 450, 70, "relu")
    exam = Exam(problem)
    bound = STRATEGY.bind(problem, exam.parameters, cpu.open_device(threads))
    assert exam.examine(bound, STRATEGY.precision).passed
    part = np.full(((batch + 1) // 2, 70), np.nan, np.float32)
    bound(exam.x[: len(part)], part)
    assert same_bits(part, run(problem, exam.x, *exam.parameters)[: len(part)])
