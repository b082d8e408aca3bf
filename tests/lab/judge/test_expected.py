"""What is expected of a result, and how far from it an element may be."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import VerificationFailure
from rooftile.lab.judge import expected as expectation
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import assert_close, random_inputs
from rooftile.ops import Conv2d, Linear, Pool, Pool2d, Softmax
from tests.support.judged_problems import Factors, Places, right

PROBLEM = Conv2d(3, 2, 13, 17, 3, (3, 5), padding=(1, 2), activation="relu")


def test_what_is_not_finite_is_told_before_closeness():
    exam = Exam(PROBLEM)
    out = PROBLEM.reference(exam.x, *exam.parameters).astype(np.float32)
    out[0, 0, 0, 0] += 1
    out[1, 1, 1, 1:3] = np.nan, np.inf
    verdict = exam.expected.judge(out, "ieee")
    assert (verdict.wrong_elements, verdict.not_finite) == (3, 2)
    assert "2 of 1989 elements are NaN, infinite, or not written" in verdict.reason


def test_the_worst_element_is_named():
    exam = Exam(PROBLEM)
    out = PROBLEM.reference(exam.x, *exam.parameters).astype(np.float32)
    out[2, 1, 4, 5] += 1
    verdict = exam.expected.judge(out, "ieee")
    assert verdict.index == (2, 1, 4, 5)
    assert verdict.got == pytest.approx(verdict.expected + 1, rel=1e-6)
    assert verdict.max_abs == pytest.approx(1, rel=1e-6)


def test_chunks_give_the_verdict_of_the_whole(monkeypatch):
    exam = Exam(PROBLEM)
    out = PROBLEM.reference(exam.x, *exam.parameters).astype(np.float32)
    out[1, 0, 0, 0] += 1
    whole = exam.expected.judge(out, "ieee")
    monkeypatch.setattr(expectation, "CHUNK_BYTES", 1)
    monkeypatch.setattr(expectation, "KEEP_BYTES", 0)
    chunked = Expected(PROBLEM, exam.x, *exam.parameters)
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
    exam = Exam(PROBLEM)
    assert reason in exam.expected.judge(out, "ieee").reason


@pytest.mark.parametrize(
    ("good", "bad"), [(np.nan, np.inf), (np.inf, np.nan), (np.inf, 3e38), (np.nan, 0)]
)
def test_special_values_must_match_in_kind(good, bad):
    problem = Linear(2, 3, 1)
    x = np.array([[1, 2, good], [1, 2, 3]], np.float32)
    weights, bias = np.ones((1, 3), np.float32), np.zeros(1, np.float32)
    out = np.array([[good], [6]], np.float32)
    assert_close(problem, out, x, weights, bias)
    out[0] = bad
    with pytest.raises(VerificationFailure):
        assert_close(problem, out, x, weights, bias)


def test_a_number_behind_an_infinite_term_is_still_compared():
    problem = Linear(1, 2, 1, "relu")
    x = np.array([[-np.inf, 1]], np.float32)
    weights, bias = np.ones((1, 2), np.float32), np.zeros(1, np.float32)
    assert_close(problem, np.zeros((1, 1), np.float32), x, weights, bias)
    with pytest.raises(VerificationFailure):
        assert_close(problem, np.full((1, 1), 1e-3, np.float32), x, weights, bias)


def test_what_overflows_float32_is_infinite():
    problem = Linear(1, 1, 1)
    x = np.full((1, 1), 3e38, np.float32)
    weights, bias = np.full((1, 1), 2, np.float32), np.zeros(1, np.float32)
    assert_close(problem, np.full((1, 1), np.inf, np.float32), x, weights, bias)


def test_fewer_images_than_the_batch():
    x, *parameters = random_inputs(PROBLEM.with_batch(2), 0)
    out = PROBLEM.with_batch(2).reference(x, *parameters).astype(np.float32)
    assert_close(PROBLEM, out, x, *parameters)


@pytest.mark.parametrize(
    "problem", [Linear(5, 300, 7, "sigmoid"), Pool2d(2, 3, 9, 9, Pool.of("max", 2)), Softmax(4, 50)]
)
def test_other_operations_have_budgets_that_bite(problem):
    exam = Exam(problem)
    out = problem.reference(exam.x, *exam.parameters).astype(np.float32)
    assert exam.expected.judge(out, "ieee").passed
    out[0] *= np.float32(1.001)
    assert not exam.expected.judge(out, "ieee").passed


def test_properties_are_asked_of_the_items_that_they_belong_to(monkeypatch):
    monkeypatch.setattr(expectation, "CHUNK_BYTES", 1)
    problem = Places(5, 9)
    exam = Exam(problem)
    out = np.empty((5, 9), np.int64)
    right(problem, exam.x, out)
    assert exam.expected.judge(out, "ieee").passed
    out[3] = out[3, ::-1].copy()
    verdict = exam.expected.judge(out, "ieee")
    assert (verdict.passed, verdict.index[0]) == (False, 3)


def test_properties_are_asked_of_all_outputs_together(monkeypatch):
    monkeypatch.setattr(expectation, "CHUNK_BYTES", 1)
    exam = Exam(Factors(4))
    x, y = exam.inputs
    # What belongs together may be in either order, but not in an order for each output.
    assert exam.expected.judge((y, x), "ieee").passed
    assert exam.expected.judge((x, x), "ieee").reason == "the product is another"
    ones = np.ones_like(x)
    assert exam.expected.judge((x * y, ones), "ieee").reason == "a factor is 1"
    first, second = x.copy(), y.copy()
    first[2], second[2] = x[2] * y[2], 1
    verdict = exam.expected.judge((first, second), "ieee")
    assert (verdict.reason, verdict.index) == ("a factor is 1", (2,))
