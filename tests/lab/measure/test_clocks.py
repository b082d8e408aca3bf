"""How a contest times its candidates."""

from __future__ import annotations

import time

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.lab.measure import clocks
from rooftile.lab.measure.clocks import clock_of
from tests.support.judged_problems import Counts, CountsOnGpu

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("quick")]


def test_the_hosts_clock_times_calls_in_turns():
    clock, turns = clock_of(cpu.open_device()), []
    works = {name: clock.work(lambda name=name: turns.append(name)) for name in "ab"}
    found = clock.in_turns(works)
    assert set(found) == {"a", "b"}
    assert turns[:2] == ["a", "b"]
    for times in found.values():
        assert min(times.warm.median, times.cold.median) > 0
        assert (times.contradiction, times.clocks) == ("", None)
    clock.repeat(works["b"])
    assert turns[-1] == "b"
    assert clock.enough == 2 * cpu.cores()


def test_an_estimate_is_the_shortest_of_some_calls(monkeypatch):
    calls = []

    def call():
        calls.append(1)
        time.sleep(0.03 if len(calls) == 1 else 0.01)

    assert 0.01 <= clock_of(cpu.open_device()).seconds(call) < 0.03
    # A call that is long enough is made once.
    monkeypatch.setattr(clocks, "PROBE_S", 0)
    calls.clear()
    assert clock_of(cpu.open_device()).seconds(call) >= 0.03
    assert len(calls) == 1


def test_a_devices_clock_times_its_launches(opencl_device):
    problem = Counts(64, 5)
    x, valid = problem.random(0)
    with opencl_device.on():
        clock = clock_of(opencl_device)
        bound = CountsOnGpu().bind(problem, (), opencl_device)
        memory = [opencl_device.upload(array) for array in (x, valid, np.zeros(5, np.int64))]

        def launch():
            bound.launch(memory)

        assert clock.seconds(launch) > 0
        work = clock.work(launch)
        times = clock.in_turns({"": work})[""]
        opencl_device.copy_in(np.full(5, -1, np.int64), memory[2])
        clock.repeat(work)
        out = np.empty(5, np.int64)
        opencl_device.copy_out(memory[2], out)
    assert times.warm.median > 0
    assert out.tolist() == problem.reference(x, valid).tolist()
    assert clock.enough == 2 * opencl_device.description.units
