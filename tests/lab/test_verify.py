from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wrong_strategies import HIDDEN, ON_GRID, RIGHT, WRONG

from rooftile.errors import VerificationFailure
from rooftile.lab import expected as expectation
from rooftile.lab import verify as lab
from rooftile.ops import Conv2d, Linear, Pool, Pool2d, Softmax
from rooftile.strategies import ladder

PROBLEM = Conv2d(3, 2, 13, 17, 3, (3, 5), padding=(1, 2), activation="relu")
POOLED = Conv2d(2, 2, 12, 16, 3, (3, 3), activation="tanh", pool=Pool.of("average", 2))


@pytest.mark.parametrize("problem", [PROBLEM, POOLED], ids=["relu", "tanh-average"])
def test_a_right_strategy_passes(problem):
    verdict = lab.verify(problem, RIGHT, seed=3)
    assert verdict.passed, verdict.reason
    assert 0 < verdict.budget_fraction <= 1
    assert 0 < verdict.max_abs < 1e-6
    assert 0 < verdict.max_rel < 1e-6
    verdict.raise_if_wrong()


@pytest.mark.parametrize("precision", ["ieee", "fast"])
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("problem", [PROBLEM, POOLED], ids=["relu", "tanh-average"])
def test_every_wrong_strategy_is_caught(problem, name, precision, monkeypatch):
    monkeypatch.setattr(WRONG[name], "precision", precision, raising=False)
    verdict = lab.verify(problem, WRONG[name])
    assert not verdict.passed
    assert verdict.reason
    with pytest.raises(VerificationFailure, match="is wrong"):
        verdict.raise_if_wrong()


@pytest.mark.parametrize("name", ["whole tiles only", "the first values alone"])
def test_what_one_problem_and_known_inputs_do_not_show(name):
    strategy = HIDDEN[name]
    exam = lab.Exam(ON_GRID)
    out = np.empty(ON_GRID.output_shape, np.float32)
    strategy.bind(ON_GRID, *exam.parameters)(exam.x, out)
    assert exam.expected.judge(out, "ieee").passed
    verdict = lab.verify(ON_GRID, strategy)
    assert not verdict.passed
    assert verdict.reason.startswith(("at Conv2d(", "on fresh inputs"))


def test_no_input_is_degenerate():
    for seed in range(5):
        arrays = lab.random_inputs(PROBLEM, seed)
        result = PROBLEM.reference(*arrays)
        assert result.std() > 0.1
        for i, array in enumerate(arrays):
            assert (array != 0).all()
            without = [*arrays[:i], np.zeros_like(array), *arrays[i + 1 :]]
            assert np.abs(PROBLEM.reference(*without) - result).max() > 0.1


def test_what_is_not_finite_is_told_before_closeness():
    exam = lab.Exam(PROBLEM)
    out = PROBLEM.reference(exam.x, *exam.parameters).astype(np.float32)
    out[0, 0, 0, 0] += 1
    out[1, 1, 1, 1:3] = np.nan, np.inf
    verdict = exam.expected.judge(out, "ieee")
    assert (verdict.wrong_elements, verdict.not_finite) == (3, 2)
    assert "2 of 1989 elements are NaN, infinite, or not written" in verdict.reason


def test_the_worst_element_is_named():
    exam = lab.Exam(PROBLEM)
    out = PROBLEM.reference(exam.x, *exam.parameters).astype(np.float32)
    out[2, 1, 4, 5] += 1
    verdict = exam.expected.judge(out, "ieee")
    assert verdict.index == (2, 1, 4, 5)
    assert verdict.got == pytest.approx(verdict.expected + 1, rel=1e-6)
    assert verdict.max_abs == pytest.approx(1, rel=1e-6)


def test_chunks_give_the_verdict_of_the_whole(monkeypatch):
    exam = lab.Exam(PROBLEM)
    out = PROBLEM.reference(exam.x, *exam.parameters).astype(np.float32)
    out[1, 0, 0, 0] += 1
    whole = exam.expected.judge(out, "ieee")
    monkeypatch.setattr(expectation, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(expectation, "_KEEP_BYTES", 0)
    chunked = lab.Expected(PROBLEM, exam.x, *exam.parameters)
    assert chunked.judge(out, "ieee") == whole
    assert len(list(chunked._chunks())) == PROBLEM.batch


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        (np.zeros((3, 3, 13, 16), np.float32), "shape"),
        (np.zeros(PROBLEM.output_shape, np.float64), "dtype"),
        ([0.0], "a list instead of a NumPy array"),
    ],
)
def test_shape_and_dtype_come_first(out, reason):
    exam = lab.Exam(PROBLEM)
    assert reason in exam.expected.judge(out, "ieee").reason


def test_inputs_are_restored_after_a_strategy_altered_them():
    exam = lab.Exam(PROBLEM)
    x = exam.x.copy()
    bound = WRONG["altered inputs"].bind(PROBLEM, *exam.parameters)
    assert exam.examine(bound, "ieee").reason == "the inputs were changed"
    assert np.array_equal(exam.x, x)
    assert exam.examine(RIGHT.bind(PROBLEM, *exam.parameters), "ieee").passed


@pytest.mark.parametrize(
    ("good", "bad"), [(np.nan, np.inf), (np.inf, np.nan), (np.inf, 3e38), (np.nan, 0)]
)
def test_special_values_must_match_in_kind(good, bad):
    problem = Linear(2, 3, 1)
    x = np.array([[1, 2, good], [1, 2, 3]], np.float32)
    weights, bias = np.ones((1, 3), np.float32), np.zeros(1, np.float32)
    out = np.array([[good], [6]], np.float32)
    lab.assert_close(problem, out, x, weights, bias)
    out[0] = bad
    with pytest.raises(VerificationFailure):
        lab.assert_close(problem, out, x, weights, bias)


def test_a_number_behind_an_infinite_term_is_still_compared():
    problem = Linear(1, 2, 1, "relu")
    x = np.array([[-np.inf, 1]], np.float32)
    weights, bias = np.ones((1, 2), np.float32), np.zeros(1, np.float32)
    lab.assert_close(problem, np.zeros((1, 1), np.float32), x, weights, bias)
    with pytest.raises(VerificationFailure):
        lab.assert_close(problem, np.full((1, 1), 1e-3, np.float32), x, weights, bias)


def test_what_overflows_float32_is_infinite():
    problem = Linear(1, 1, 1)
    x = np.full((1, 1), 3e38, np.float32)
    weights, bias = np.full((1, 1), 2, np.float32), np.zeros(1, np.float32)
    lab.assert_close(problem, np.full((1, 1), np.inf, np.float32), x, weights, bias)


def test_fewer_images_than_the_batch():
    x, *parameters = lab.random_inputs(PROBLEM.with_batch(2), 0)
    out = PROBLEM.with_batch(2).reference(x, *parameters).astype(np.float32)
    lab.assert_close(PROBLEM, out, x, *parameters)


@pytest.mark.parametrize(
    "problem", [Linear(5, 300, 7, "sigmoid"), Pool2d(2, 3, 9, 9, Pool.of("max", 2)), Softmax(4, 50)]
)
def test_other_operations_have_budgets_that_bite(problem):
    exam = lab.Exam(problem)
    out = problem.reference(exam.x, *exam.parameters).astype(np.float32)
    assert exam.expected.judge(out, "ieee").passed
    out[0] *= np.float32(1.001)
    assert not exam.expected.judge(out, "ieee").passed


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000), channels=st.integers(1, 40), mask=st.integers(1, 5),
    kind=st.sampled_from([None, "max", "average"]),
    activation=st.sampled_from(["none", "relu", "sigmoid", "tanh"]),
)  # fmt: skip
def test_float32_sums_stay_within_the_budget(seed, channels, mask, kind, activation):
    pool = None if kind is None else Pool.of(kind, 2)
    problem = Conv2d(1, channels, 9, 9, 2, (mask, mask), activation=activation, pool=pool)
    (loops,) = (rung for rung in ladder("conv2d") if rung.name == "loops")
    verdict = lab.verify(problem, loops, seed, neighbours=False)
    assert verdict.passed, verdict
