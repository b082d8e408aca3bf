"""The example of two threads' steps: which results there are, and that none is left to chance."""

from __future__ import annotations

import math

import pytest


@pytest.fixture(scope="module")
def example(benchmark_script):
    return benchmark_script("interleavings")


def test_the_lectures_four(example):
    assert [schedule.number for schedule in example.drawn()] == [2, 2, 1, 1]


def test_all_of_two_plain_threads(example):
    found = list(example.schedules((example.plain, example.plain)))
    assert len(found) == math.comb(4, 2)
    assert len({schedule.steps for schedule in found}) == len(found)
    # An update is lost where both have read before either has written.
    for schedule in found:
        lost = schedule.found == (0, 0)
        assert schedule.number == (1 if lost else 2)
    assert set(example.drawn()) < set(found)


@pytest.mark.parametrize(("name", "count"), [("atomic", 2), ("swapping", 6)])
def test_nothing_is_lost(example, name, count):
    thread = getattr(example, name)
    found = list(example.schedules((thread, thread)))
    assert len(found) == count
    assert {schedule.number for schedule in found} == {2}
    assert {schedule.found for schedule in found} == {(0, 1)}


def test_a_critical_section_wants_a_lock_that_is_one_step(example):
    locked = list(example.schedules((example.locking,) * 2))
    assert {schedule.number for schedule in locked} == {2}
    assert len(locked) == 2
    looked = list(example.schedules((example.looking,) * 2))
    assert {schedule.number for schedule in looked} == {1, 2}
    assert all(schedule.steps[-1][1] == "unlock" for schedule in (*locked, *looked))
    assert {one.number for one in example.schedules((example.locking,) * 3)} == {3}


def test_three_threads_that_swap(example):
    found = example.schedules((example.swapping,) * 3)
    assert {schedule.number for schedule in found} == {3}
    plain = example.schedules((example.plain,) * 3)
    assert {schedule.number for schedule in plain} == {1, 2, 3}


def test_what_is_printed(example, capsys):
    example.main()
    text = capsys.readouterr().out
    assert "  1 reads  2 reads  1 writes  2 writes: 1\n" in text
    assert "  1 adds  2 adds: 2\n" in text
