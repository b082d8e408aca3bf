"""What a candidate must survive besides being right."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.lab.judge.exam import GUARD_BYTES, Exam
from rooftile.ops import Conv2d
from tests.support.judged_problems import Counts, Extremes, right
from tests.support.wrong_strategies import RIGHT, WRONG

PROBLEM = Conv2d(3, 2, 13, 17, 3, (3, 5), padding=(1, 2), activation="relu")


def test_no_input_is_degenerate():
    for seed in range(5):
        arrays = PROBLEM.random(seed)
        result = PROBLEM.reference(*arrays)
        assert result.std() > 0.1
        for i, array in enumerate(arrays):
            assert (array != 0).all()
            without = [*arrays[:i], np.zeros_like(array), *arrays[i + 1 :]]
            assert np.abs(PROBLEM.reference(*without) - result).max() > 0.1


def test_inputs_are_restored_after_a_strategy_altered_them():
    exam = Exam(PROBLEM)
    x = exam.x.copy()
    bound = WRONG["altered inputs"].bind(PROBLEM, exam.parameters, cpu.open_device())
    assert exam.examine(bound, "ieee").reason == "the inputs were changed"
    assert np.array_equal(exam.x, x)
    assert exam.examine(RIGHT.bind(PROBLEM, exam.parameters, cpu.open_device()), "ieee").passed


def examined(problem, call, **options):
    """The verdict on a made-up way to compute a problem."""
    exam = Exam(problem)

    def compute(*arrays):
        count = len(problem.input_arrays)
        here = problem if problem.batch_size is None else problem.with_batch(len(arrays[0]))
        call(here, *arrays[:count], *exam.parameters, *arrays[count:])

    return exam.examine(compute, "ieee", **options)


def all_but_the_last(problem, x, valid, out):
    out[:-1] = problem.reference(x, valid)[:-1]


def only_what_changes(problem, x, valid, out):
    """Right where the memory held what poisons an integer."""
    made = problem.reference(x, valid)
    made[0] = out[0]
    out[...] = made


def second_output_left(problem, x, weight, least, total):
    least[...] = problem.reference(x, weight)[0]


def before_it(problem, x, valid, out):
    right(problem, x, valid, out)
    ctypes.memset(out.ctypes.data - 1, 0, 1)


def far_behind_it(problem, x, valid, out):
    right(problem, x, valid, out)
    ctypes.memset(out.ctypes.data + out.nbytes + GUARD_BYTES - 1, 0, 1)


def second_input_changed(problem, x, valid, out):
    right(problem, x, valid, out)
    valid[3] += 1


@pytest.mark.parametrize(
    ("problem", "call", "reason"),
    [
        (Counts(64, 5), all_but_the_last, "other than the reference"),
        (Counts(64, 5), only_what_changes, "other than the reference"),
        (Counts(64, 5), before_it, "outside its output"),
        (Counts(64, 5), far_behind_it, "outside its output"),
        (Counts(64, 5), second_input_changed, "the inputs were changed"),
        (Extremes(4, 9), second_output_left, "not written"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_left_or_touched_is_seen(problem, call, reason):
    assert examined(problem, right).passed
    verdict = examined(problem, call)
    assert not verdict.passed
    assert reason in verdict.reason


def test_an_integer_that_nobody_wrote_differs_between_runs():
    """Even where its poison happens to be the result."""
    exam = Exam(Counts(64, 5))
    poison = np.frombuffer(b"\x55" * 8, np.int64)[0]
    reference = exam.problem.reference(*exam.inputs)
    reference[2] = poison
    exam.expected._kept[0].references[0][...] = reference

    def compute(x, valid, out):
        made = exam.problem.reference(x, valid)
        made[2] = out[2]
        out[...] = made

    exam._on_others = lambda *_: exam.expected.judge(reference, "ieee")
    assert exam.examine(compute, "ieee").reason == "two runs differ"


def test_what_is_excused_passes_and_nothing_else():
    def off(problem, x, weight, least, total):
        right(problem, x, weight, least, total)
        total[...] = (1 + 1e-5) * total

    def near(verdict):
        return verdict.max_rel < 1e-4

    problem = Extremes(4, 9)
    assert not examined(problem, off).passed
    assert examined(problem, off, excused=near).passed
    assert not examined(problem, second_output_left, excused=near).passed
    kept = []

    def first_result(problem, x, weight, least, total):
        kept.append(x.copy())
        off(problem, kept[0], weight, least, total)

    assert not examined(problem, first_result, excused=near).passed


def test_arrays_that_are_given_are_copied_and_examined():
    arrays = Counts(64, 5).random(3)
    exam = Exam(Counts(64, 5), arrays=arrays)
    arrays[0][:] = 0
    out = exam.problem.reference(*Counts(64, 5).random(3))
    assert exam.expected.judge(out, "ieee").passed
    assert [a.dtype for a in exam.inputs] == [np.uint8, np.int32]
    assert exam.x is exam.inputs[0]
