"""Calls of Python's in compiled code: what they compute, what they leave to the long way."""

from __future__ import annotations

import gc
import os
import sys
import threading

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu import quick, team
from rooftile.devices.cpu.native import native


@native
def add_and_count(x, y, out, sizes, begin, end):
    for unit in range(begin, end):
        out[unit] = x[unit] + y[unit] + sizes[0]


def added(rows=3, columns=4, threads=1):
    """``call((x, y), out)`` gives x + y + 10."""
    shape, units = (rows, columns), rows * columns
    run = cpu.Spread(add_and_count, ["float32"] * 3)
    return run.quick(np.array([10], np.int64), units, threads, [shape] * 3)


def arrays(rows=3, columns=4, seed=0):
    generator = np.random.default_rng(seed)
    return tuple(generator.standard_normal((rows, columns), np.float32) for _ in range(2))


def test_a_result_is_new_or_the_callers():
    call, (x, y) = added(), arrays()
    one, other, out = call((x, y), None), call((y, y), None), np.empty_like(x)
    np.testing.assert_array_equal(one, x + y + 10)
    np.testing.assert_array_equal(other, y + y + 10)
    assert one.flags.owndata
    assert call((x, y), out) is out
    np.testing.assert_array_equal(out, one)


class Derived(np.ndarray):
    """An array that may do anything."""


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        1.0,
        np.zeros((3, 4)),
        np.zeros((3, 4), ">f4"),
        np.zeros((3, 8), np.float32)[:, ::2],
        np.zeros(49, np.uint8)[1:].view(np.float32).reshape(3, 4),
        np.zeros((3, 4), np.float32).view(Derived),
    ],
    ids=["none", "a number", "float64", "swapped", "strided", "unaligned", "derived"],
)
def test_what_is_not_plain_is_left_alone(wrong):
    call, (x, y) = added(), arrays()
    assert call((wrong, y), None) is None
    assert call((x, wrong), None) is None
    if wrong is not None:
        assert call((x, y), wrong) is None


def test_as_many_arrays_are_given_as_the_problem_has():
    call, (x, y) = added(), arrays()
    assert call((x,), None) is None
    assert call((x, y, y), None) is None


def test_the_callers_result_has_the_shape_is_writable_and_lies_apart():
    call, (x, y) = added(), arrays()
    room = np.zeros(24, np.float32)
    fixed = np.empty_like(x)
    fixed.flags.writeable = False
    for out in (x, y, np.empty((4, 3), np.float32), np.empty(12, np.float32), fixed):
        assert call((x, y), out) is None
    one, near = room[:12].reshape(3, 4), room[12:].reshape(3, 4)
    assert call((one, y), room[11:23].reshape(3, 4)) is None
    assert call((one, y), near) is near


def test_nothing_is_held_and_nothing_is_lost():
    call, (x, y) = added(), arrays()
    out = np.empty_like(x)
    counts = [sys.getrefcount(one) for one in (x, y, out)]
    for _ in range(100):
        call((x, y), out)
        call((x, y), None)
        call((x, None), None)
    assert [sys.getrefcount(one) for one in (x, y, out)] == counts
    made = call((x, y), None)
    assert sys.getrefcount(made) == 2
    # What the method points at lives as long as it does.
    gc.collect()
    np.testing.assert_array_equal(call((x, y), None), x + y + 10)


def test_a_team_shares_and_several_threads_call():
    (x, y), wrong = arrays(100, 64), []
    call = added(100, 64, threads=2)
    team.team(2)

    def work():
        for _ in range(200):
            found = call((x, y), None)
            if not (found == x + y + 10).all():
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_long_call_lets_other_threads_run_and_one_at_a_time_is_in_it():
    rows, columns = 2**10, 2**9
    (x, y), call = arrays(rows, columns), added(rows, columns)
    expected, found = x + y + 10, []

    def work():
        for _ in range(50):
            made = call((x, y), None)
            found.append(made is None or np.array_equal(made, expected))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 150
    assert all(found)
    # A call that found another in it left nothing behind.
    np.testing.assert_array_equal(call((x, y), None), expected)


def test_the_gil_is_free_while_a_long_call_computes():
    @native
    def wait(x, out, sizes, begin, end):
        # Until another thread of Python's has written: an element that was read may be kept.
        while x[begin % 4096] == 0.0 and begin < sizes[0]:
            begin += 1
        out[0] = x[begin % 4096]

    x = np.zeros(2**18, np.float32)
    most = np.array([10**10], np.int64)
    call = cpu.Spread(wait, ["float32"] * 2).quick(most, 1, 1, [x.shape] * 2)
    refused = []

    def release():
        refused.append(call((x,), None))
        x[:] = 3.0

    timer = threading.Timer(0.05, release)
    timer.start()
    assert call((x,), None)[0] == 3.0
    timer.join()
    assert refused == [None]


def test_a_forked_child_goes_the_long_way_until_it_has_a_team():
    (x, y), call = arrays(), added(threads=2)
    team.team(2)
    assert call((x, y), None) is not None
    child = os.fork()
    if child == 0:
        first = call((x, y), None)
        team.team(2)
        later = call((x, y), None)
        os._exit(0 if first is None and (later == x + y + 10).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_child_that_is_forked_in_a_long_call_calls_again():
    """In the child nobody computes, whatever its parent's threads do."""

    @native
    def wait(x, out, sizes, begin, end):
        while x[begin % 4096] == 0.0 and begin < sizes[0]:
            begin += 1
        out[0] = x[begin % 4096]

    x, most = np.zeros(2**18, np.float32), np.array([10**10], np.int64)
    call = cpu.Spread(wait, ["float32"] * 2).quick(most, 1, 1, [x.shape] * 2)
    thread = threading.Thread(target=call, args=((x,), None))
    thread.start()
    while call((np.ones_like(x),), None) is not None:
        pass
    child = os.fork()
    if child == 0:
        found = call((np.ones_like(x),), None)
        os._exit(0 if found is not None and found[0] == 1.0 else 1)
    x[:] = 3.0
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_another_python_has_none(monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "other")
    assert quick.compiled_method.__wrapped__() is None
    monkeypatch.setattr(quick, "compiled_method", lambda: None)
    assert added() is None
