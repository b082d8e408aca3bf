"""Every strategy of every ladder against the float64 reference."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import UnsupportedProblem
from rooftile.lab.judge.verify import assert_close, verify
from tests.support.unwritten import check_new_memory

from .strategy_cases import CASES, PROBLEMS, check, float32, inputs, problems_of

RUNGS = [pytest.param(rung, id=f"{op}-{rung.name}") for op in CASES for rung in float32(op)]
PAIRS = [
    pytest.param(rung, problem, id=f"{op}-{rung.name}-{n}")
    for op, problems in CASES.items()
    for rung in float32(op)
    for n, problem in enumerate(problems)
]
TAKEN = [p for p in PAIRS if p.values[0].why_not(p.values[1]) is None]
REFUSED = [p for p in PAIRS if p.values[0].why_not(p.values[1]) is not None]

SHARED = {
    "conv2d": {"loops", "threads", "im2col", "im2col_fused", "fft"},
    "linear": {"loops", "threads", "blas"},
    "pool2d": {"loops", "threads", "rows"},
    "softmax": {"loops", "threads", "vectors"},
}
"""Strategies that do not compile anew for each problem: they get many examples."""

SPECIALS = st.sampled_from([(), (), (0,), (0, 1, 2)])
"""Which arrays hold special values."""
examples = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@pytest.mark.parametrize(("rung", "problem"), TAKEN)
def test_is_right_repeatable_and_stays_inside_its_output(rung, problem):
    # The cases are off every grid themselves, and each shape is compiled.
    threads = 2 if rung.name in SHARED["conv2d"] else 1
    verdict = verify(problem, rung, seed=1, threads=threads, neighbours=False)
    assert verdict.passed, verdict


@pytest.mark.parametrize(("rung", "problem"), TAKEN)
@pytest.mark.parametrize("specials", [(0,), (1, 2)], ids=["input", "parameters"])
def test_nan_and_infinity_propagate(rung, problem, specials):
    if specials == (1, 2) and not problem.parameter_shapes:
        specials = (0,)
    for seed in range(3):
        check(rung, problem, seed, specials)


@pytest.mark.parametrize(("rung", "problem"), REFUSED)
def test_a_refusal_is_an_error_with_its_reason(rung, problem):
    with pytest.raises(UnsupportedProblem, match=rung.name) as caught:
        check(rung, problem)
    assert rung.why_not(problem) in str(caught.value)


@pytest.mark.parametrize("operation", CASES)
@settings(examples, max_examples=40)
@given(data=st.data())
def test_any_problem_of_kernels_with_run_time_sizes(operation, data):
    problem, specials = data.draw(PROBLEMS[operation]), data.draw(SPECIALS)
    seed = data.draw(st.integers(0, 2**16))
    for rung in float32(operation):
        if rung.name in SHARED[operation] and rung.why_not(problem) is None:
            check(rung, problem, seed, specials)
            check_new_memory(rung, problem)


@pytest.mark.parametrize(
    "rung", [r for r in RUNGS if r.values[0].name not in SHARED[r.values[0].operation]]
)
@settings(examples, max_examples=4)
@given(data=st.data())
def test_any_problem_of_generated_kernels(rung, data):
    problem = data.draw(problems_of(rung))
    assume(rung.why_not(problem) is None)
    check(rung, problem, data.draw(st.integers(0, 2**16)), data.draw(SPECIALS))
    check_new_memory(rung, problem)


@pytest.mark.parametrize("rung", RUNGS)
def test_the_last_batch_may_be_partial(rung):
    """A bound strategy takes any number of images up to its batch."""

    problem = next(p for p in CASES[rung.operation] if p.batch > 1 and rung.why_not(p) is None)
    problem = problem.with_batch(5)
    x, *parameters = inputs(problem, 0, ())
    bound = rung.bind(problem, parameters, cpu.open_device(2))
    for images in (5, 1, 3):
        out = np.full((images, *problem.output_shape[1:]), np.nan, np.float32)
        bound(x[:images], out)
        assert_close(problem, out, x[:images], *parameters, precision=rung.precision)


@pytest.mark.parametrize("rung", RUNGS)
def test_parameters_are_read_when_bound_and_not_later(rung):

    problem = next(p for p in CASES[rung.operation] if rung.why_not(p) is None)
    x, *parameters = inputs(problem, 0, ())
    bound = rung.bind(problem, parameters, cpu.open_device(1))
    before, after = (np.empty(problem.output_shape, np.float32) for _ in range(2))
    bound(x, before)
    for array in parameters:
        array[...] = np.nan
    bound(x, after)
    np.testing.assert_array_equal(before, after)
