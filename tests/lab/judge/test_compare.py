"""Each way of judging an output takes what is right, and catches what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.lab.judge.compare import compare
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import verify
from rooftile.ops import ERROR_MODELS
from rooftile.ops.judgement import Exact, Normwise, Unordered
from rooftile.ops.problem import Array
from tests.support.judged_problems import (
    Computed,
    Counts,
    Directions,
    Extremes,
    Places,
    Shuffled,
    right,
)

PROBLEMS = [Counts(100, 7), Extremes(5, 33), Shuffled(60), Places(4, 30), Directions(6, 17)]
IEEE = ERROR_MODELS["ieee"]


def judged(judgement, out, reference, *, batched=False):
    """The verdict on an output that needs neither magnitude nor inputs."""
    place = Array("out", out.shape, out.dtype.name, "output", batched)
    return compare(place, judgement, out, reference, None, IEEE, ())


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.operation)
def test_what_is_right_passes_off_the_grid_and_on_hard_inputs_too(problem):
    verdict = verify(problem, Computed(right), hard=isinstance(problem, Shuffled | Places))
    assert verdict.passed, verdict
    assert verdict.reason == ""


def one_more(problem, x, valid, out):
    right(problem, x, valid, out)
    out[-1] += 1


def least_of_few(problem, x, weight, least, total):
    right(problem, x, weight, least, total)
    least[...] = x[:, : problem.columns // 2].min(axis=1)


def nearly_least(problem, x, weight, least, total):
    right(problem, x, weight, least, total)
    least[0] = np.nextafter(least[0], np.float32(np.inf))


def rough_total(problem, x, weight, least, total):
    right(problem, x, weight, least, total)
    total[...] = (1 + 1e-4) * total


def one_twice(problem, x, out):
    out[...] = x
    out[1] = x[0]


def rounded(problem, x, out):
    out[...] = x.astype(np.float32).astype(np.int32) // 2 * 2


def falling(problem, x, out):
    out[...] = np.argsort(-x, axis=1)


def always_the_first(problem, x, out):
    out[...] = 0


def of_the_first_row(problem, x, out):
    out[...] = np.argsort(x, axis=1)[:1]


def one_row_swapped(problem, x, out):
    out[...] = 2 * x
    out[1] = out[0]


@pytest.mark.parametrize(
    ("problem", "call", "reason"),
    [
        (Counts(100, 7), one_more, "1 of 7 elements other than the reference"),
        (Extremes(5, 33), least_of_few, "other than the reference"),
        (Extremes(5, 33), nearly_least, "1 of 10 elements other than the reference"),
        (Extremes(5, 33), rough_total, "outside the budget"),
        (Shuffled(60), one_twice, "other than the reference"),
        (Shuffled(60), rounded, "other than the reference"),
        (Places(4, 30), falling, "it does not rise"),
        (Places(4, 30), always_the_first, "it is no permutation"),
        (Places(4, 30), of_the_first_row, "it does not rise"),
        (Directions(6, 17), one_row_swapped, "1 of 6 items are off by their norm"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_wrong_is_caught_and_said(problem, call, reason):
    verdict = verify(problem, Computed(call))
    assert not verdict.passed
    assert reason in verdict.reason
    assert verdict.budget_fraction > 1


def test_every_output_is_judged_whichever_is_wrong():
    exam = Exam(Extremes(3, 40))
    least, total = exam.problem.reference(*exam.inputs, *exam.parameters)
    total = total.astype(np.float32)
    assert exam.expected.judge((least, total), "ieee").passed
    for changed in ((least + 1, total), (least, total + 1)):
        assert not exam.expected.judge(changed, "ieee").passed
    assert "shape" in exam.expected.judge((least, total[:2]), "ieee").reason
    assert "dtype" in exam.expected.judge((least.astype(np.float64), total), "ieee").reason


def test_an_integer_that_wrapped_is_not_exact():
    out = np.array([44, 255], np.uint8)
    assert judged(Exact(), out, np.array([44, 255])).passed
    verdict = judged(Exact(), out, np.array([300, 255]))
    assert (verdict.passed, verdict.index, verdict.wrong_elements) == (False, (0,), 1)
    huge = np.array([2**60 + 1], np.int64)
    assert not judged(Exact(), huge, huge + 1).passed


def test_exactly_is_by_the_outputs_own_numbers():
    third = np.array([1 / 3, np.nan, np.inf, 1e300])
    out = np.array([1 / 3, np.nan, np.inf, np.inf], np.float32)
    assert judged(Exact(), out, third).passed
    for wrong in (np.nextafter(out[0], np.float32(1)), np.nan, -np.inf):
        changed = out.copy()
        changed[0] = wrong
        assert not judged(Exact(), changed, third).passed


def test_any_order_is_along_the_axis_alone():
    reference = np.arange(12).reshape(3, 4)
    out = reference[:, ::-1].copy()
    assert judged(Unordered(), out, reference).passed
    assert not judged(Unordered(axis=0), out, reference).passed
    assert judged(Unordered(axis=0), reference[::-1].copy(), reference).passed


def test_a_norm_is_an_items_where_there_is_a_batch():
    reference = np.array([[1e6, 0.0], [1.0, 0.0]])
    out = reference.astype(np.float32)
    out[1, 1] = 0.5
    one = judged(Normwise(1e-3), out, reference, batched=True)
    assert (one.passed, one.index, one.wrong_elements) == (False, (1, 1), 1)
    assert one.budget_fraction == pytest.approx(500)
    assert judged(Normwise(1e-3), out, reference).passed
    assert judged(Normwise(1e-3), np.float32(2) * np.ones(()), np.array(2.0)).passed


def test_by_norm_what_is_not_finite_must_be_the_same_and_zeros_may_be_zeros():
    reference = np.array([[np.inf, 1.0], [0.0, 0.0]])
    out = reference.astype(np.float32)
    assert judged(Normwise(1e-6), out, reference, batched=True).passed
    for place, value in (((0, 0), 1.0), ((0, 1), np.nan), ((1, 0), 1e-30)):
        changed = out.copy()
        changed[place] = value
        verdict = judged(Normwise(1e-6), changed, reference, batched=True)
        assert not verdict.passed
        assert verdict.index == place
