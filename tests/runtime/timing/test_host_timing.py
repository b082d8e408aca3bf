from __future__ import annotations

import time

import numpy as np
import pytest

from rooftile.runtime.timing import host as lab


def test_quantiles_are_ordered_and_in_milliseconds():
    timing = lab.measure(lambda: time.sleep(0.002), seconds=0.2)
    assert timing.min <= timing.p20 <= timing.median <= timing.p80
    assert timing.min >= 2
    assert timing.n >= 3


def test_candidates_take_turns():
    order: list[str] = []
    lab.interleaved({name: lambda name=name: order.append(name) for name in "ab"}, seconds=0.01)
    turns = [name for i, name in enumerate(order) if i == 0 or order[i - 1] != name]
    assert turns[:6] == ["a", "b"] * 3


def test_each_timed_burst_is_preceded_by_an_untimed_call(monkeypatch):
    calls = []
    monkeypatch.setattr(lab, "PAUSE_S", 0)
    monkeypatch.setattr(lab, "WARM_S", 0)
    monkeypatch.setattr(lab, "BURST_S", 0)
    timing = lab.measure(lambda: calls.append(1), seconds=0)
    assert timing.n == lab.LEAST
    assert len(calls) == 1 + 2 * lab.LEAST


def test_a_long_call_is_not_repeated_untimed(monkeypatch):
    calls = []
    monkeypatch.setattr(lab, "LONG_S", 0)
    timing = lab.measure(lambda: calls.append(1), seconds=0)
    assert timing.n >= lab.LEAST
    assert len(calls) == 1 + timing.n


def test_a_pause_lasts_until_no_thread_spins(monkeypatch):
    slept, used = [], iter([0.0, 0.015, 0.015, 0.019, 0.019, 0.020, *np.arange(1, 99)])
    monkeypatch.setattr(lab.time, "sleep", slept.append)
    monkeypatch.setattr(lab.time, "process_time", lambda: next(used))
    lab.pause()
    assert slept == [lab.PAUSE_S] * 3
    # One that never parks is not waited for.
    lab.pause()
    assert len(slept) == 3 + lab.MOST_PAUSES


def test_what_is_left_of_a_slow_call_is_its_least_rounds(quick):
    told = []
    lab.interleaved({"": lambda: time.sleep(0.01)}, seconds=0, left=told.append)
    assert len(told) == lab.LEAST
    assert all(seconds >= 0.009 for seconds in told)


def test_many_short_calls_share_the_time(monkeypatch):
    """A call of eight rounds stops after its share; one of fewer has its own time."""
    monkeypatch.setattr(lab, "is_steady", lambda times: False)
    calls = {"short": lambda: None, "long": lambda: time.sleep(0.03)}
    shared = lab.interleaved(calls, seconds=0.4, in_all=0.1)
    assert len(shared["short"].samples) == 8
    assert 3 <= len(shared["long"].samples) <= 8
    alone = lab.interleaved({"short": calls["short"]}, seconds=0.4)
    assert len(alone["short"].samples) > 8


@pytest.mark.parametrize(("spread", "steady"), [(0.0, True), (0.5, False)])
def test_noise_decides_whether_it_is_steady(spread, steady):
    times = list(1 + spread * np.linspace(-1, 1, 20))
    assert lab.is_steady(times) is steady
    assert lab.timing_of(times).median == pytest.approx(1000)


def test_an_interrupt_gives_the_times_of_those_that_had_a_round():
    calls = []

    def second():
        calls.append(1)
        if len(calls) > 1:  # The first is made before all rounds.
            raise KeyboardInterrupt

    with pytest.raises(lab.Interrupted) as stopped:
        lab.interleaved({"a": lambda: None, "b": second})
    assert list(stopped.value.times) == ["a"]
    assert stopped.value.times["a"].n > 0
